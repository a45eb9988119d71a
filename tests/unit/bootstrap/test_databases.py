"""What is missing is told apart: a package to install, or a module of ours."""

import importlib

import pytest

from waypost.bootstrap.databases import extra
from waypost.kernel.configuration import SettingError


def test_a_missing_package_becomes_advice_on_what_to_install() -> None:
    with pytest.raises(SettingError, match="not installed") as told, extra("mongodb"):
        importlib.import_module("surely_not_installed")
    assert told.value.next_step == "pip install 'waypost[mongodb]'"


def test_a_missing_module_of_ours_is_a_defect_and_no_package() -> None:
    with pytest.raises(ModuleNotFoundError), extra("mongodb"):
        importlib.import_module("waypost.adapters.surely_not_there")
