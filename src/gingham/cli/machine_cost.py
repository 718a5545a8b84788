"""The costs of the machine that a workload file gives, as a file or as constants."""

from collections.abc import Mapping
from dataclasses import asdict, replace

from gingham.core.errors import WorkloadError


def machine_cost(path: str | None, constants: Mapping[str, float]) -> object:
    """The costs in a file of `gingham calibrate --save`, or the usual ones, with these constants.

    Raises if the file has none, or something else than numbers.
    """
    # It loads the optimizer: only who gives costs waits for it.
    from gingham.optimizer.cost import Cost

    cost = Cost() if path is None else Cost.read(path)
    for name, seconds in asdict(cost).items():
        # JSON has true and "1", too, and Python reads NaN.
        if type(seconds) not in (int, float) or not 0 <= seconds < float("inf"):
            raise WorkloadError(
                f"{name} in {path} is {seconds!r}",
                "a cost is a number of seconds",
                "a file of gingham calibrate --save",
            )
    return replace(cost, **constants)
