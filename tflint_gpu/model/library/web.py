"""Frameworks that call functions for requests from the web."""

from tflint_gpu.model.library.spellings import spelled

APPLICATIONS = spelled("flask.{Flask,Blueprint} fastapi.{FastAPI,APIRouter}")
"""What has the decorators of `ROUTES`."""
ROUTES = ("route", "get", "post", "put", "api_route")
