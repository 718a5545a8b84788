"""What every test may ask for: one Spark session, and reproducible random examples."""

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

# Spark starts its Python workers as `python3` unless told otherwise: that may be another Python.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
# Workers that may not keep compiled code compile this package anew each time that one starts.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# "ci" tries the same examples every time; "soak" keeps looking: HYPOTHESIS_PROFILE=soak make test
# No deadline in either: the first example to touch Spark waits for the JVM.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=60)
settings.register_profile(
    "soak", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `pytest tests/planning --rewrite` write the golden plans anew."""
    parser.addoption("--rewrite", action="store_true", help="write the golden plans anew")


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Tell whether golden files are to be written instead of compared."""
    return bool(request.config.getoption("--rewrite"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Give every test the same local session: starting one takes longer than most tests."""
    session = local_session()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def local_session() -> SparkSession:
    """A session with the settings of all tests."""
    return (
        SparkSession.builder.master("local[2]")
        .appName("gingham tests")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a JVM, so that `pytest -m "not spark"` is the quick half."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
