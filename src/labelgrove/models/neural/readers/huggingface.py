"""Pretrained transformers of Hugging Face: loading, framing of their input, what learns."""

from __future__ import annotations

import inspect
import json
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from labelgrove.core.errors import InputError
from labelgrove.core.extras import need
from labelgrove.models.neural.readers.base import mask_of
from labelgrove.text.pretrained import EXTRA, Pair, Specials, beside, load_pretrained

Pooling = Literal["first", "last", "mean"]
POOLING = "1_Pooling/config.json"  # of sentence-transformers
TOLD: dict[str, Pooling] = {
    "pooling_mode_cls_token": "first",
    "pooling_mode_lasttoken": "last",
    "pooling_mode_mean_tokens": "mean",
}
MOST_LAYERS = 1000  # of a config that is believed; each costs time to build
# what a config can say of code to fetch and run; a saved one is built without it
NAMES_CODE = {
    "auto_map",
    "attn_implementation",
    "_attn_implementation",
    "experts_implementation",
    "_experts_implementation",
    "quantization_config",
}


class Framed(NamedTuple):
    """Texts with all that stands around them, and room for what is read with them.

    Parameters
    ----------
    ids, types
        Tokens and their segments, both of shape (b, W); room is filled with padding.
    ends
        Tokens of each text with what is around it, shape (b,); behind them is padding.
    room
        Where each text has room, shape (b, m).
    """

    ids: Tensor
    types: Tensor
    ends: Tensor
    room: Tensor


def alone(specials: Specials) -> Pair:
    """Return what stands around a text that is read with nothing else."""
    own = specials.text_type
    types = (specials.before_types, own, (), own, specials.behind_types)
    return Pair(specials.before, (), specials.behind, types)


def framed(
    tokens: Tensor, lengths: Tensor, near: Pair, pad: int, more: Tensor | None = None
) -> Framed:
    """Put around texts what belongs there.

    Parameters
    ----------
    tokens, lengths
        Shapes (b, T) and (b,).
    near
        What belongs there.
    pad
        What fills up short texts.
    more
        Which of m tokens are read with each text, shape (b, m), bool; those that are come first.
    """
    before, text, between, second, behind = near.types
    first, width = len(near.before), tokens.shape[1]
    if more is None:
        more = tokens.new_zeros((tokens.shape[0], 0), dtype=torch.bool)
    room = more.shape[1]
    ids = tokens.new_full((tokens.shape[0], width + room + near.n_around), pad)
    types = torch.full_like(ids, text)
    ids[:, :first], types[:, :first] = _rows(near.before, ids), _rows(before, ids)
    ids[:, first : first + width] = tokens.masked_fill(~mask_of(lengths, width), pad)
    start = lengths[:, None] + first
    places = start + len(near.between) + torch.arange(room, device=ids.device)
    free = torch.where(more, places, places + len(near.behind))  # what is not read is behind all
    types.scatter_(1, free, second)
    ends = start + len(near.between) + more.sum(1, keepdim=True)
    for begin, values, kinds in ((start, near.between, between), (ends, near.behind, behind)):
        places = begin + torch.arange(len(values), device=ids.device)
        ids.scatter_(1, places, _rows(values, ids).expand_as(places))
        types.scatter_(1, places, _rows(kinds, ids).expand_as(places))
    return Framed(ids, types, ends[:, 0] + len(near.behind), free)


def embedded(encoder: nn.Module, ids: Tensor) -> Tensor:
    """Return the vectors (b, W, e) that a transformer begins with."""
    vectors: Tensor = encoder.get_input_embeddings()(ids)  # type: ignore[operator]
    return vectors


def states_of(encoder: nn.Module, given: dict[str, Any], types: Tensor, own: Tensor) -> Tensor:
    """Return the vectors (b, W, d) of what a transformer reads; parameters as of `layers_of`."""
    return layers_of(encoder, given, types, own)[-1]


def layers_of(
    encoder: nn.Module, given: dict[str, Any], types: Tensor, own: Tensor, n: int = 1
) -> tuple[Tensor, ...]:
    """Return the vectors (b, W, d) that each of the last n layers of a transformer gives.

    Parameters
    ----------
    encoder
        The transformer.
    given
        Tokens, ``input_ids`` (b, W), or their vectors, ``inputs_embeds`` (b, W, e).
    types
        Segments (b, W), of which it may know fewer, or none.
    own
        What is not padding, shape (b, W).
    n
        Number of layers, from 1 to all that the transformer has.
    """
    given, takes = {**given, "attention_mask": own.long()}, _inputs(encoder)
    if "token_type_ids" in takes:
        known = getattr(_config(encoder), "type_vocab_size", None)
        given["token_type_ids"] = types.clamp(max=known - 1) if known else types
    if "use_mems" in takes:  # XLNet would keep what it read for a text that goes on
        given["use_mems"] = False
        given["attention_mask"] = own.float()  # it subtracts this mask from a float
    if n == 1:
        return (encoder(**given).last_hidden_state,)
    read = encoder(**given, output_hidden_states=True)
    return (*read.hidden_states[-n:-1], read.last_hidden_state)


def n_layers(encoder: nn.Module) -> int:
    """Return how many layers a transformer has."""
    return int(_config(encoder).num_hidden_layers)


def pooled(states: Tensor, pooling: Pooling, ends: Tensor, counted: Tensor) -> Tensor:
    """Return the vector (b, d) that stands for each text.

    Parameters
    ----------
    states
        Vectors of all tokens, shape (b, W, d).
    pooling
        Which.
    ends
        Tokens of each text, shape (b,).
    counted
        How many of them a mean is of, shape (b,).
    """
    if pooling == "first":
        return states[:, 0]
    if pooling == "last":
        return states[torch.arange(states.shape[0], device=states.device), ends - 1]
    own = mask_of(counted, states.shape[1])
    return (states * own[:, :, None]).sum(1) / counted[:, None]


def load_encoder(name: str) -> nn.Module:
    """Return a pretrained transformer from a folder or the Hugging Face hub, in float32.

    Weights are read from safetensors only: other files may hold pickled objects.

    Parameters
    ----------
    name
        A folder, or a name on the hub; see `labelgrove.text.pretrained.load_pretrained`.
    """
    found = load_pretrained(name, "model", "AutoModel", use_safetensors=True, dtype=torch.float32)
    return _encoder_only(found, name)


def skeleton(name: str) -> nn.Module:
    """Return a transformer without weights, to ask it how large it is."""
    transformers = need("transformers", EXTRA, "a pretrained encoder")
    config = load_pretrained(name, "model", "AutoConfig")
    with torch.device("meta"):
        try:
            found = transformers.AutoModel.from_config(config, trust_remote_code=False)
        except Exception as error:  # the library raises all kinds
            raise InputError(
                f"transformers has no model for {name}, of type {config.model_type!r}, and code "
                "that a model brings along is not run: choose another"
            ) from error
        return _encoder_only(found, name)


def config_of(encoder: nn.Module) -> str:
    """Return all that is needed to build a transformer like this one, as JSON."""
    found: str = _config(encoder).to_json_string(use_diff=False)
    return found


def from_config(config: str) -> nn.Module:
    """Return a transformer like that which `config_of` was asked about, with any weights."""
    transformers = need("transformers", EXTRA, "a pretrained encoder")
    weights = need("transformers.initialization", EXTRA, "a pretrained encoder")
    told = {name: value for name, value in json.loads(config).items() if name not in NAMES_CODE}
    for name, value in told.items():
        if "layer" in name and isinstance(value, int) and value > MOST_LAYERS:
            raise ValueError(f"{name} is {value:,}, more than any transformer has")
    built = transformers.AutoConfig.for_model(**told)
    with weights.no_init_weights():  # they are put into it next
        found = transformers.AutoModel.from_config(
            built, trust_remote_code=False, dtype=torch.float32
        )
        return _encoder_only(found, "")


def check_saved(encoder: nn.Module, specials: Specials, pooling: Any) -> None:
    """Refuse, of a file, tokens or segments that a transformer has no vector for."""
    if pooling not in TOLD.values():
        raise ValueError(f"pooling must be one of {', '.join(TOLD.values())}, got {pooling!r:.60}")
    rows = encoder.get_input_embeddings().num_embeddings  # type: ignore[operator]
    if specials.n_terms > rows:
        raise ValueError(f"there are {specials.n_terms:,} tokens and {rows:,} vectors of them")
    types = getattr(_config(encoder), "type_vocab_size", None)
    most = max((specials.text_type, *specials.before_types, *specials.behind_types))
    if types and most >= types:
        raise ValueError(f"segment {most} of a transformer that knows {types}")


def _encoder_only(model: Any, name: str) -> nn.Module:
    if getattr(model.config, "is_encoder_decoder", False):
        if not hasattr(model, "get_encoder"):
            raise InputError(f"{name} has a decoder and no encoder of its own: choose another")
        model = model.get_encoder()
    if getattr(model, "pooler", None) is not None:
        model.pooler = nn.Identity()  # ours is elsewhere, and this one would never learn
    found: nn.Module = model
    return found


def width_of(encoder: nn.Module) -> int:
    """Return the size of a transformer's vectors."""
    found = getattr(_config(encoder), "hidden_size", None)
    if not isinstance(found, int) or "attention_mask" not in _inputs(encoder):
        raise InputError(
            f"{type(encoder).__name__} is no encoder of texts that can be used here: it lacks "
            "config.hidden_size, or an attention mask for what is padded"
        )
    return found


def _inputs(encoder: nn.Module) -> frozenset[str]:
    """Return the names of what a transformer takes."""
    return frozenset(inspect.signature(encoder.forward).parameters)


def longest_input(encoder: nn.Module) -> int | None:
    """Return how many tokens a transformer can read at once, or None for any number."""
    limit = getattr(_config(encoder), "max_position_embeddings", None)
    if limit is None or limit < 1:
        return None
    for name, module in encoder.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            # RoBERTa's positions begin behind that of padding
            skipped = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - skipped
    return int(limit)


def pooling_for(name: str, specials: Specials) -> Pooling:
    """Return which vector stands for a text.

    That for which the model was trained, if it says so as those of sentence-transformers do. Else
    that of the token which its tokenizer puts before a text and closes with another (BERT), or
    behind it as the last of several (XLNet). A tokenizer that only begins a text belongs to a model
    that reads forwards, whose last token knows all of it. Without any, all tokens count.
    """
    if (told := pooling_told(name)) is not None:
        return told
    if specials.before and specials.behind:
        return "first"
    return "last" if specials.before or len(specials.behind) > 1 else "mean"


def pooling_told(name: str) -> Pooling | None:
    """Return for which vector a model says that it was trained, if it does."""
    if (told := beside(name, POOLING)) is not None:
        found = json.loads(told.read_text(encoding="utf-8"))
        for key, pooling in TOLD.items():
            if found.get(key) is True or found.get("pooling_mode") == key.split("_")[2]:
                return pooling
    return None


# --- what learns --------------------------------------------------------------------------------


def freeze(encoder: nn.Module, layers: int) -> None:
    """Keep the lowest layers as they are, with all that is below them; -1 for everything."""
    if not layers:
        return
    if layers < 0:
        encoder.requires_grad_(requires_grad=False)
        return
    stack = _layers(encoder)
    if layers > len(stack):
        raise InputError(
            f"frozen is {layers}, but the encoder has {len(stack)} layers: give fewer, or -1 for "
            "all of it"
        )
    parameters = list(encoder.parameters())  # from below, as the text goes through them
    places = {id(each): place for place, each in enumerate(parameters)}
    last = max(places[id(each)] for each in stack[layers - 1].parameters())
    for parameter in parameters[: last + 1]:
        parameter.requires_grad_(False)


def n_frozen_layers(encoder: nn.Module) -> int:
    """Return how many of the lowest layers do not learn."""
    parameters = list(encoder.parameters())
    if not any(each.requires_grad for each in parameters):
        return n_layers(encoder)
    if all(each.requires_grad for each in parameters):
        return 0
    frozen = [
        not any(each.requires_grad for each in part.parameters()) for part in _layers(encoder)
    ]
    return sum(frozen)


def layer_shares(encoder: nn.Module, decay: float) -> dict[str, float]:
    """Return what share of the transformer's learning rate each of its weights has, by name.

    Parameters
    ----------
    encoder
        The transformer.
    decay
        Factor from each layer to the one below it; what is below all layers is one more down.
    """
    if decay == 1:
        return {}
    stack = _layers(encoder)
    depths = {
        id(parameter): len(stack) - 1 - number
        for number, layer in enumerate(stack)
        for parameter in layer.parameters()
    }
    found, below = {}, True
    for name, parameter in encoder.named_parameters():  # from below, as the text goes through them
        depth = depths.get(id(parameter))
        below = below and depth is None
        found[name] = decay ** (len(stack) if below else depth or 0)
    return found


def checkpointed(encoder: nn.Module) -> None:
    """Let a transformer compute inner values again on the way back instead of keeping them."""
    if not getattr(encoder, "supports_gradient_checkpointing", False):
        raise InputError(
            f"{type(encoder).__name__} cannot compute inner values again: leave checkpointing out"
        )
    model: Any = encoder
    model.config.use_cache = False  # there is nothing to go on from
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.disable_input_require_grads()  # else what is frozen is gone back through, for nothing


def with_updates(encoder: nn.Module, rank: int) -> nn.Module:
    """Return a transformer whose weights stay, beside low-rank updates (LoRA) that learn."""
    peft = need("peft", "lora", "low-rank updates (lora)")
    settings = peft.LoraConfig(
        r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules="all-linear"
    )
    found: nn.Module = peft.inject_adapter_in_model(settings, encoder)
    for name, parameter in found.named_parameters():
        parameter.requires_grad_("lora_" in name)
    return found


def merged(encoder: nn.Module) -> nn.Module:
    """Add low-rank updates to the weights they belong to; what is returned has plain layers."""
    layer = need("peft.tuners.lora", "lora", "low-rank updates (lora)").LoraLayer
    for name, module in list(encoder.named_modules()):
        if isinstance(module, layer):
            module.merge()
            parent = encoder.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], module.get_base_layer())
    return encoder


def _layers(encoder: nn.Module) -> nn.ModuleList:
    """Return the stack of layers: the list of as many modules as the configuration counts."""
    n = n_layers(encoder)
    for module in encoder.modules():
        if isinstance(module, nn.ModuleList) and len(module) == n:
            return module
    raise InputError(
        f"{type(encoder).__name__} does not show its layers: layer_decay must be 1, and frozen 0, "
        "or -1 for all of it"
    )


def _config(encoder: nn.Module) -> Any:
    return encoder.config


def _rows(values: tuple[int, ...], like: Tensor) -> Tensor:
    return torch.tensor([values], dtype=like.dtype, device=like.device)
