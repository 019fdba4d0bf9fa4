import pytest

from labelgrove import models
from labelgrove.core.errors import MissingExtraError, UnknownNameError
from labelgrove.core.extras import need
from labelgrove.core.registry import Entry, Registry


def test_an_unknown_name_lists_the_near_ones():
    with pytest.raises(UnknownNameError, match=r"unknown model 'most-frequnt'.*'most-frequent'"):
        models.create("most-frequnt")


def test_an_unknown_setting_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"setting of 'most-frequent' 'beam'.*seed, threads"):
        models.create("most-frequent", beam=3)


def test_other_packages_add_models_by_entry_point(stand_ins_installed):
    assert "centroid" in models.names()
    assert models.MODELS.entries()["centroid"].summary == "from stand-ins"
    assert models.create("centroid", power=2.0).power == 2.0


def test_without_the_package_the_model_is_gone():
    assert "centroid" not in models.names()


def test_a_missing_extra_is_explained(tmp_path, monkeypatch):
    (tmp_path / "needs_a_library.py").write_text("import a_library_nobody_has\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = Registry("model", {"big": Entry("needs_a_library:Big", extra="neural")}, "none")
    with pytest.raises(
        MissingExtraError, match=r"'big' needs a_library_nobody_has.*labelgrove\[neural\]"
    ):
        registry.create("big")


def test_a_missing_optional_library_is_explained():
    with pytest.raises(MissingExtraError, match=r"reading SKOS needs nobody.*labelgrove\[skos\]"):
        need("nobody.has.this", "skos", "reading SKOS")


def test_a_broken_library_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("import something_else_missing\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="something_else_missing"):
        need("broken_library", "neural", "this")
