"""Codebooks survive being stored as JSON."""

from __future__ import annotations

import math

from gingham.logical.domain import BOOLEAN, DOUBLE, INTEGER, STRING
from gingham.logical.predicate import Attribute, Axis
from gingham.plan.codebook import Codebook
from gingham.plan.grid import Grid
from gingham.stream.codec import codebook_from_json, codebook_to_json


def test_a_codebook_comes_back_from_json():
    axes = (
        Axis(Attribute("d", DOUBLE), (-math.inf, 0.1, math.inf)),
        Axis(Attribute("s", STRING), ("", "é'")),
        Axis(Attribute("b", BOOLEAN), (True,)),
        Axis(Attribute("i", INTEGER), (-(2**63), 2**53 + 1)),
    )
    book = Codebook((Grid(axes, ("k",), 0, 4),), ("k",), ("sum(x)",))
    assert codebook_from_json(codebook_to_json(book)) == book
    nan = Codebook((Grid((Axis(Attribute("d", DOUBLE), (math.nan,)),), (), 0, 0),), (), ())
    again = codebook_from_json(codebook_to_json(nan))
    assert math.isnan(again.grids[0].axes[0].cuts[0])
