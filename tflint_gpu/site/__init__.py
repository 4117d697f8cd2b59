"""The catalogue as a folder of static pages: legible without a network, and where `documentation-url` leads to."""
