"""The installed release, as text."""

from importlib.metadata import version

__version__ = version("likewise")
