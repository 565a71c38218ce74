"""Verbs that change the status of a memory: supersede, restore, split, forget, erase."""

from __future__ import annotations

from wellkept.engine.base.context import Context
from wellkept.engine.lookup import read


class StatusVerbs:
    """Verbs that hide a memory, bring it back or remove it; inherited by `MemoryStore`."""

    _ctx: Context

    def supersede(self, old_id: str, new_id: str) -> int:
        """Mark a memory as replaced by another; restorable. Returns the journal entry.

        Raises:
            CycleError, SelfReference, IllegalTransition, NotFound: Not possible; nothing was changed.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     old = store.remember("Lunch is at noon.").memory
            ...     new = store.remember("We eat at one now.").memory
            ...     _ = store.supersede(old.id, new.id)
            ...     store.get(old.id).status
            'superseded'
        """
        from wellkept.engine.gate import acts

        return acts.supersede(self._ctx, read.identify(self._ctx, old_id), read.identify(self._ctx, new_id))

    def restore(self, memory_id: str) -> bool:
        """Make a superseded, forgotten or faded memory active again, or store a text that the gate rejected.

        Returns:
            Whether anything was changed.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     memory = store.remember("Lunch is at noon.").memory
            ...     _ = store.forget(memory.id)
            ...     store.restore(memory.id), store.get(memory.id).status
            (True, 'active')
        """
        from wellkept.engine.gate import acts

        return bool(acts.restore(self._ctx, read.identify(self._ctx, memory_id)))

    def split(self, memory_id: str) -> int:
        """Make a wording a memory of its own: it is listed again, and never folded into its head by itself.

        Its head loses the confirmation that the wording was. `undo` takes the split back.

        Args:
            memory_id: Id of the wording, or a prefix of it; `list` with the status `wording` shows them.

        Returns:
            The journal entry.

        Raises:
            IllegalTransition: The memory is no wording; nothing was changed.
            NotFound: There is no such memory in this namespace.

        Example:
            >>> import wellkept
            >>> folding = wellkept.Policy.from_toml('[kinds.fact]\\nrepeats = "fold"\\n')
            >>> with wellkept.open("memory:", policy=folding) as store:
            ...     head = store.remember("The invoices are sent by Marta.", kind="fact")
            ...     told = store.remember("Marta sends the invoices.", kind="fact")
            ...     _ = store.split(told.links[0].src)
            ...     sorted(memory.content for memory in store.list())
            ['Marta sends the invoices.', 'The invoices are sent by Marta.']
        """
        from wellkept.engine.gate import acts

        return acts.split(self._ctx, read.identify(self._ctx, memory_id))

    def forget(self, memory_id: str) -> int:
        """Archive a memory: hidden from recall, but kept and restorable. Returns the journal entry.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     memory = store.remember("Lunch is at noon.").memory
            ...     _ = store.forget(memory.id)
            ...     store.get(memory.id).status
            'archived'
        """
        from wellkept.engine.gate import acts

        return acts.forget(self._ctx, read.identify(self._ctx, memory_id))

    def erase(self, memory_id: str) -> int:
        """Permanently remove a memory's content from vectors, full text, journal, conflicts and later exports.

        Returns:
            The journal entry; 0 when it was already erased.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     memory = store.remember("My PIN is 4711.").memory
            ...     _ = store.erase(memory.id)
            ...     store.get(memory.id).status, store.get(memory.id).content
            ('erased', '')
        """
        from wellkept.engine.gate import acts

        return acts.erase(self._ctx, read.identify(self._ctx, memory_id))
