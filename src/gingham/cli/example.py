"""`gingham example`: a small data set and workload files to start from."""

from importlib.resources import as_file, files
from pathlib import Path
from shutil import copyfile

from gingham.cli.market import TABLES, write_market
from gingham.cli.start_spark import start_spark
from gingham.cli.terminal import progress
from gingham.core.errors import WorkloadError

WORKLOADS = ("trades.yaml", "trades.sql")
ROWS = 20_000


def write_example(folder: Path) -> None:
    """Write an hour of trades into folder/data, and workloads over it beside that."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise WorkloadError(
            f"{folder} is not empty", "nothing of yours is overwritten", "a new folder"
        )
    folder.mkdir(parents=True, exist_ok=True)  # refused by the system before Spark starts
    spark = start_spark()
    (folder / "data").mkdir()
    with progress() as bars:
        task = bars.add_task(f"writing {ROWS:,} trades", total=len(TABLES))
        write_market(spark, folder / "data", ROWS, lambda: bars.advance(task))
    for name in WORKLOADS:
        with as_file(files("gingham.cli") / "example" / name) as packaged:
            copyfile(packaged, folder / name)
