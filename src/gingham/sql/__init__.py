"""SQL text to logical queries."""

from gingham.sql.parse import parse

__all__ = ["parse"]
