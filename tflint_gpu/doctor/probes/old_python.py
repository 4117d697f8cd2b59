"""Prints, as JSON, which Python this is; any Python from 2.7 on runs it, so it has no annotations."""

import json
import sys

print(json.dumps({"executable": sys.executable, "python": "%d.%d" % sys.version_info[:2]}))  # noqa: UP031
