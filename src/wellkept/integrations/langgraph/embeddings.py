"""An embedding model of LangChain as an `Embedder`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wellkept.core.judging.calibration import UNCALIBRATED, Calibration
from wellkept.errors import ModelResponseInvalid, ModelUnavailable
from wellkept.models.port import Embedded

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings


class LangChainEmbedder:
    """Embeds with a model of LangChain: an `Embeddings`, a function of texts, or a name such as `openai:…`.

    Its similarities are measured on first use, as those of every embedder without a table.

    Args:
        embed: The model.
        dims: Length of its vectors.
        name: Names the model; vectors of two names are never mixed. By default its class and model name.
        calibration: From its cosine to similarity, if it was measured before.

    Example:
        >>> import wellkept
        >>> class Letters:
        ...     def embed_documents(self, texts):
        ...         return [[text.count(char) for char in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
        >>> embedder = LangChainEmbedder(Letters().embed_documents, 26, name="letters")
        >>> embedder.embed(["tea"])[0].vector.shape
        (26,)
    """

    lexical = False

    def __init__(
        self, embed: Embeddings | Any, dims: int, *, name: str = "", calibration: Calibration = UNCALIBRATED
    ) -> None:
        from langgraph.store.base import ensure_embeddings

        self.embeddings: Embeddings = ensure_embeddings(embed)
        self.dim = dims
        model = getattr(self.embeddings, "model", "") or getattr(self.embeddings, "model_name", "")
        self.id = f"langchain:{name or ':'.join(filter(None, (type(self.embeddings).__name__, str(model))))}:{dims}"
        self.calibration = calibration

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Vectors in the order of the texts.

        Raises:
            ModelUnavailable: The model failed.
            ModelResponseInvalid: A vector has another length, or is not finite.
        """
        import numpy as np

        try:
            rows = self.embeddings.embed_documents(list(texts))
            vectors = [np.asarray(row, dtype=np.float32) for row in rows]
        except (OSError, RuntimeError, TypeError, ValueError) as error:
            raise ModelUnavailable(f"the embedding model failed: {error}", where=self.id) from error
        found: list[Embedded] = []
        for vector in vectors:
            if vector.shape != (self.dim,) or not np.isfinite(vector).all():
                todo = "Give the length of the model's vectors as dims"
                raise ModelResponseInvalid(f"a vector has the shape {vector.shape}", where=self.id, todo=todo)
            norm = float(np.linalg.norm(vector))
            found.append(Embedded(vector / norm if norm else None))
        if len(found) != len(texts):
            raise ModelResponseInvalid(f"{len(found)} vectors for {len(texts)} texts", where=self.id)
        return found
