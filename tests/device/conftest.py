"""A store, a table and an application on a temporary folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from device.settings import Settings
from device.store import Store
from device.table import Table
from device.web import create_app
from device.web.security import Throttle


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory, where there is one: thousands of syncs cost nothing there."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        yield Path(name, "data")


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with Store.open(folder) as store:
        yield store


@pytest.fixture
def table(store: Store) -> Iterator[Table]:
    with Table(store, settings=Settings(grace=30.0)) as table:
        yield table


@pytest.fixture
def app(table: Table) -> Flask:
    app = create_app(table, addresses=lambda: ["http://192.168.1.7:8080/"], throttle=Throttle(hold=0.0))
    app.config["PROPAGATE_EXCEPTIONS"] = False
    return app


@pytest.fixture
def watcher(app: Flask) -> FlaskClient:
    """A phone that only watches."""
    return app.test_client()


@pytest.fixture
def phone(app: Flask, store: Store) -> FlaskClient:
    """A phone that has joined."""
    client = app.test_client()
    assert client.get(f"/join?code={store.code}").status_code == 303
    return client
