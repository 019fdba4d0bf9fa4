"""The README.md of an exported network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labelgrove.tagger.exporting.check import ExportCheck

TEXT = """\
# A tagger as ONNX
A network (model {model}) that ranks {labels:,} labels, exported by labelgrove {version} with \
opset {opset}. {check}.

## Use it
```sh
pip install numpy onnxruntime tokenizers
python tagging.py "a text"
```
```python
from tagging import ExportedTagger

tagger = ExportedTagger(".")
print(tagger.tag(["a text", "another text"], k=5, threshold="auto"))
```
`tagging.py` needs no labelgrove and no torch. Copy it, or write the same in another language.

## Files
| file | what it holds |
|---|---|
| `network.onnx` | the network, float32{data} |
| `tokenizer.json` | texts to token numbers, for the library tokenizers |
| `labels.json` | id and name of each label, in the order of the outputs{thresholds} |
| `export.json` | inputs, outputs, length, thresholds, the calibration, the check |
| `manifest.json` | size and checksum of each file |

## Inputs and outputs
| name | type | shape | |
|---|---|---|---|
| `tokens` | int64 | (batch, tokens) | token numbers, filled up with {pad} |
| `lengths` | int64 | (batch) | how many of them each text has, 0 for none |
| `scores` | float32 | (batch, {labels}) | the network's own scores: rank labels by them |
| `probabilities` | float32 | (batch, {labels}) | the tagger's probabilities: the same, calibrated |

- Give token numbers without special tokens; the network adds those that it needs.
- At most the first {tokens:,} tokens of a text are read{windows}.
- Equal probabilities are possible where scores differ, so rank by `scores`.
- `export.json` has the thresholds `auto` and `macro`{tuned}.
"""


def readme(about: Mapping[str, Any], check: ExportCheck, large: bool) -> str:
    """Return the text.

    Parameters
    ----------
    about
        What ``export.json`` holds.
    check
        How the network was checked.
    large
        Whether the weights are in a file of their own.
    """
    reads, told = about["reads"], check.told()
    size, most = reads["window"], reads["windows"]
    windows = f", {size:,} at once: longer ones in {most:,} windows, of which the largest counts"
    tuned = about["thresholds"]["tuned"]
    return TEXT.format(
        model=about["model"],
        labels=about["labels"],
        version=about["labelgrove"],
        opset=about["opset"],
        check=told[0].upper() + told[1:],
        data="; its large weights are in `network.onnx.data`" if large else "",
        thresholds=", with a threshold for each" if tuned else "",
        pad=reads["pad"],
        tokens=min(reads["tokens"], size * most),
        windows=windows if most > 1 else "",
        tuned="" if tuned else " (0.5: none was tuned)",
    )
