"""Secrets are not repeated in texts that users see."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gingham.core.errors import GinghamError
from gingham.core.secrets import hide, without_secrets

VALUE = "hUnter2x9"


@pytest.mark.parametrize(
    "text",
    [
        "cannot connect to jdbc:postgresql://ann:{}@db:5432/trades",
        "postgres://ann:{}@db failed",
        "mongodb+srv://ann:{}/with@signs@db/x",
        "https://:{}@host/x",
        "jdbc:mysql://db/trades?user=ann&password={}&ssl=true",
        "jdbc:sqlserver://db;user=ann;password={};encrypt=true",
        "jdbc:oracle:thin:ann/{}@//db:1521/x",
        "GET https://host/x?token={} failed",
        "https://a.blob.core.windows.net/x?sv=2020&sig={}&se=2024",
        "https://b.s3.amazonaws.com/x?X-Amz-Signature={}&X-Amz-Date=1",
        'PlainLoginModule required username="ann" password="{}";',
        'kafka.sasl.jaas.config=Plain required username=\\"ann\\" password=\\"{}\\";',
        "kafka.sasl.jaas.config -> Plain required username='ann' password='{}';",
        "Options: Map(user -> ann, password -> {}, url -> x)",
        "{{'fs.s3a.secret.key': '{}', 'fs.s3a.endpoint': 'x'}}",
        '{{"api_key": "{}"}}',
        "spark.hadoop.fs.azure.account.key.x.dfs.core.windows.net={}",
        "DefaultEndpointsProtocol=https;AccountKey={}==;EndpointSuffix=x",
        "ssl.keystore.password: {}",
        "password : {}",
        "PGPASSWORD={} psql",
        "DB_PASSWD={}",
        "Authorization: Bearer {}",
        "client_secret=={}",
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n{}",
    ],
)
def test_a_secret_is_masked_wherever_it_stands(text: str):
    masked = without_secrets(text.format(VALUE))
    assert VALUE not in masked
    assert "***" in masked
    assert without_secrets(masked) == masked
    error = GinghamError(*(text.format(VALUE),) * 3)
    assert VALUE not in repr(error) + str(error.about("x")) + str(error.__reduce__())


@pytest.mark.parametrize(
    "key",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.dozjgNryP4J3jVmNHl0w5N",
    ],
)
def test_keys_that_show_by_their_form_are_masked(key: str):
    assert without_secrets(f"using {key} here") == "using *** here"


@pytest.mark.parametrize(
    "text",
    [
        "there is no column token",
        "[PARSE_SYNTAX_ERROR] Syntax error at or near 'secret'",
        "schema: ts TIMESTAMP, token STRING",
        "struct<token:string,password: binary>",
        "http://host:8080/a@b",
        "key='symbol', monkey=3",
        "file:///data/trades.csv: line 3",
        "GROUP BY window(ts, '5 minutes')",
    ],
)
def test_what_is_no_secret_stays(text: str):
    assert without_secrets(text) == text


@given(st.text())
def test_any_text_is_taken(text: str):
    assert isinstance(without_secrets(text), str)


@pytest.mark.parametrize("part", ["://a:", "password=", "a.b-", "key", "'", "eyJ", "x" * 50])
def test_a_long_text_is_masked_in_one_pass(part: str):
    # Time that grows with the square of the text would be minutes here.
    assert len(without_secrets(part * 50_000)) <= len(part) * 50_000 + 3


def test_what_spark_or_a_sink_says_of_it_is_masked():
    hide("first line of a key\nsecond line of it\nx")
    error = GinghamError("it failed", "at 'second line of it' (x)", "first line of a key")
    assert error.why == "at '***' (x)"
    assert error.instead == "***"


def test_a_hidden_value_within_another_is_masked_with_it():
    hide("carrot77")
    hide("carrot77-and-leek")
    assert without_secrets("a carrot77-and-leek, a carrot77") == "a ***, a ***"
