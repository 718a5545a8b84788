# datasketches is a compiled module without types: every name in it is taken as it is.
from typing import Any

def __getattr__(name: str) -> Any: ...
