"""An MLflow flavour: taggers in MLflow's tracking, registry and serving.

A model holds the folder of a saved tagger and names this module as its loader, so that nothing is
pickled::

    import mlflow
    from labelgrove import Tagger
    from labelgrove.integrations import mlflow as flavour

    with mlflow.start_run():
        info = flavour.log_model(Tagger.load("my-tagger"), name="tagger")
    model = mlflow.pyfunc.load_model(info.model_uri)
    model.predict(pandas.DataFrame({"text": ["..."]}), params={"top": 3})
"""

from __future__ import annotations

import math
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelgrove._version import __version__
from labelgrove.core.errors import InputError
from labelgrove.core.extras import need
from labelgrove.models import MODELS
from labelgrove.tagger import Tagger

if TYPE_CHECKING:
    import pandas as pd

FLAVOR_NAME = "labelgrove"
TEXT = "text"
TOP = 5
NONE = "none"  # the parameter's value for no threshold
EXAMPLE = "Solar panels on public buildings"
PURPOSE = "an MLflow model"
FOLDER = "tagger"  # of the saved tagger among the model's data


def save_model(
    tagger: Tagger,
    path: str | os.PathLike[str],
    mlflow_model: Any = None,
    *,
    example: str = EXAMPLE,
    pip_requirements: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Write a tagger as an MLflow model: signature, input example, requirements, the folder.

    Parameters
    ----------
    tagger
        A fitted tagger.
    path
        The folder to write, which must not be there or be empty.
    mlflow_model
        What `mlflow.models.Model.log` gives; None for a new one.
    example
        A text for the input example.
    pip_requirements
        What a machine needs to load the model; None for this version of labelgrove with the extra
        that the tagger's model needs.
    metadata
        More to keep with the model.
    """
    mlflow = _mlflow()
    target = Path(path)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise InputError(f"{path} exists already; choose another folder")
    there = target.exists()
    model = mlflow.models.Model() if mlflow_model is None else mlflow_model
    model.add_flavor(FLAVOR_NAME, version=__version__, data=f"data/{FOLDER}")
    with tempfile.TemporaryDirectory() as temporary:
        saved = Path(temporary) / FOLDER
        tagger.save(saved)
        try:
            mlflow.pyfunc.save_model(
                path=str(target),
                loader_module=__name__,
                data_path=str(saved),
                mlflow_model=model,
                signature=signature(),
                input_example=_example(example),
                pip_requirements=[*(pip_requirements or requirements(tagger))],
                metadata=None if metadata is None else dict(metadata),
            )
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            if there:
                target.mkdir()
            raise


def log_model(
    tagger: Tagger,
    name: str = "tagger",
    *,
    registered_model_name: str | None = None,
    example: str = EXAMPLE,
    pip_requirements: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    **more: Any,
) -> Any:
    """Log a tagger as a model of the active run, or of a new one; return MLflow's `ModelInfo`.

    Parameters
    ----------
    tagger
        A fitted tagger.
    name
        The model's name.
    registered_model_name
        Also make it a version of this registered model.
    example, pip_requirements, metadata
        As for `save_model`.
    more
        Other arguments of `mlflow.models.Model.log`, such as ``tags``.
    """
    return _mlflow().models.Model.log(
        artifact_path=None,
        name=name,
        flavor=sys.modules[__name__],
        registered_model_name=registered_model_name,
        metadata=None if metadata is None else dict(metadata),
        tagger=tagger,
        example=example,
        pip_requirements=pip_requirements,
        **more,
    )


def load_model(
    model_uri: str, *, require_signature: str | os.PathLike[str] | None = None
) -> Tagger:
    """Return the tagger of a model, with all its methods.

    Parameters
    ----------
    model_uri
        Such as ``"models:/tagger/1"``, ``"runs:/RUN/tagger"`` or a folder.
    require_signature
        As for `Tagger.load`.
    """
    mlflow = _mlflow()
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=model_uri))
    flavors = mlflow.models.Model.load(str(folder)).flavors
    if FLAVOR_NAME not in flavors:
        raise InputError(
            f"{model_uri} holds no tagger of labelgrove, but a model of the flavors "
            f"{', '.join(sorted(flavors))}"
        )
    data = folder / str(flavors[FLAVOR_NAME]["data"])
    return Tagger.load(data, require_signature=require_signature)


def requirements(tagger: Tagger) -> list[str]:
    """Return what a machine needs to load a tagger, as lines of a ``requirements.txt``.

    Parameters
    ----------
    tagger
        A fitted tagger.

    Examples
    --------
    >>> tagger = Tagger("most-frequent", validation=0).fit(["solar panels", "wind"], [["x"], ["y"]])
    >>> requirements(tagger)[0].split("==")[0]
    'labelgrove[mlflow]'
    """
    learned = tagger.learned_
    entry = MODELS.entries().get(learned.model.name)
    extras = {"mlflow"} | ({entry.extra} if entry is not None and entry.extra else set())
    if any(part.name in ("subwords", "encoder") for part in learned.featurizers.values()):
        extras.add("transformers")
    return [f"labelgrove[{','.join(sorted(extras))}]=={__version__}"]


def signature() -> Any:
    """Return the signature: a column of texts in, labels and probabilities out."""
    _mlflow()
    models, types = (
        need("mlflow.models", "mlflow", PURPOSE),
        need("mlflow.types", "mlflow", PURPOSE),
    )
    schema = need("mlflow.types.schema", "mlflow", PURPOSE)
    texts, numbers = (schema.Array(kind) for kind in (types.DataType.string, types.DataType.double))
    return models.ModelSignature(
        inputs=types.Schema([types.ColSpec(types.DataType.string, TEXT)]),
        outputs=types.Schema(
            [
                types.ColSpec(texts, "labels"),
                types.ColSpec(texts, "names"),
                types.ColSpec(numbers, "probabilities"),
            ]
        ),
        params=types.ParamSchema(
            [
                types.ParamSpec("top", types.DataType.long, TOP),
                types.ParamSpec("threshold", types.DataType.string, NONE),
            ]
        ),
    )


def _mlflow() -> Any:
    return need("mlflow", "mlflow", PURPOSE)


def _example(text: str) -> Any:
    return need("pandas", "mlflow", PURPOSE).DataFrame({TEXT: [text]})


# --- what MLflow calls --------------------------------------------------------------------------


def _load_pyfunc(data_path: str) -> TaggerModel:
    """Return what `mlflow.pyfunc.load_model` asks, from the folder of the model's data."""
    return TaggerModel(Tagger.load(data_path))


class TaggerModel:
    """A tagger as MLflow asks it.

    Parameters
    ----------
    tagger
        The tagger.
    """

    def __init__(self, tagger: Tagger) -> None:
        self.tagger = tagger

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return the labels of each text, best first: lists in ``labels`` and two more columns.

        Parameters
        ----------
        model_input
            A data frame with a column ``text``, or a list of texts.
        params
            ``top``, at most so many labels; ``threshold``, a number or a name as for
            `Tagger.tag`, ``"none"`` for no limit.
        """
        told = dict(params or {})
        top, threshold = told.pop("top", TOP), _threshold(told.pop("threshold", NONE))
        if told:
            raise InputError(f"unknown parameter {next(iter(told))!r}; known: top, threshold")
        texts, index = _texts(model_input)
        tagged = self.tagger.tag(texts, k=_top(top), threshold=threshold) if texts else []
        return need("pandas", "mlflow", PURPOSE).DataFrame(
            {
                "labels": [[tag.label for tag in tags] for tags in tagged],
                "names": [[tag.name for tag in tags] for tags in tagged],
                "probabilities": [[float(tag.score) for tag in tags] for tags in tagged],
            },
            index=index,
        )

    def get_raw_model(self) -> Tagger:
        """Return the tagger."""
        return self.tagger


def _top(value: Any) -> int:
    if isinstance(value, bool) or int(value) != value or value < 1:
        raise InputError(f"top must be a whole number from 1, got {value!r}")
    return int(value)


def _threshold(value: Any) -> float | str | None:
    """Return a threshold as `Tagger.tag` takes it; MLflow's parameters have one type."""
    if value is None or value == NONE:
        return None
    try:
        number = float(value)
    except ValueError:
        return str(value)
    if math.isnan(number):
        raise InputError("threshold must be a number or a name, got nan")
    return number


def _texts(model_input: Any) -> tuple[list[str], Any]:
    """Return the texts of an input, and the index of its rows."""
    index, values = getattr(model_input, "index", None), model_input
    if hasattr(model_input, "columns"):
        if TEXT not in model_input.columns:
            known = ", ".join(map(str, model_input.columns)) or "none"
            raise InputError(f"the input has no column {TEXT!r}; its columns: {known}")
        values = model_input[TEXT]
    elif isinstance(model_input, Mapping):
        if TEXT not in model_input:
            raise InputError(f"the input has no {TEXT!r}")
        values, index = model_input[TEXT], None
    if isinstance(values, str):
        values = [values]
    if callable(index):  # a list has a method of that name
        index = None
    texts = [*values]
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"row {row} of the input has no text, but {text!r:.60}")
    return texts, index
