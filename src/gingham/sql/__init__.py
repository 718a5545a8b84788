"""SQL text to logical queries."""

from gingham.sql.parse import Parsed, parse

__all__ = ["Parsed", "parse"]
