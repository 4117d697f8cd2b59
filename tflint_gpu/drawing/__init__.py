"""What the HTML reports of several commands share: the frame of a page, its style sheet, and plots as SVG."""
