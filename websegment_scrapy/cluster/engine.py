"""What of datatrove the blocks are made of; who has it not is told how to get it."""

from __future__ import annotations

from websegment_scrapy.batch.folder import BatchError

try:
    from datatrove.data import Document
    from datatrove.io import get_datafolder
    from datatrove.pipeline.base import PipelineStep
    from datatrove.pipeline.dedup.minhash import (
        HashConfig,
        MinhashConfig,
        MinhashDedupBuckets,
        MinhashDedupSignature,
    )
except ImportError as error:
    raise BatchError(
        f"the blocks for a cluster are datatrove's, which is missing ({error}): "
        'pip install "websegment-scrapy[cluster]"'
    ) from None

__all__ = [
    "Document",
    "HashConfig",
    "MinhashConfig",
    "MinhashDedupBuckets",
    "MinhashDedupSignature",
    "PipelineStep",
    "get_datafolder",
]
