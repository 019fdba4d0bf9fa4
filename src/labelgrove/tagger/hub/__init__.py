"""Taggers on the Hugging Face hub: pushed to a repository, and pulled from one.

The hub is spoken to by ``huggingface_hub``, which finds the token, the address and the cache as
its users know them (``HF_TOKEN``, ``HF_ENDPOINT``, ``HF_HUB_CACHE``, ``HF_HUB_OFFLINE``).
"""

from labelgrove.tagger.hub.pulling import fetch, pull
from labelgrove.tagger.hub.pushing import PushOptions, push

__all__ = ["PushOptions", "fetch", "pull", "push"]
