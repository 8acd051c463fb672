"""A layer below SQLite that loses what was not synced, as a power cut does.

Writes go to memory. A sync writes them to the disk. `crash_image` copies the files as they might be
after a power cut: what was synced, and of the other writes any of their parts.
"""

import apsw

SECTOR = 512


class UnsyncedVFS(apsw.VFS):
    def __init__(self, name, random, on_change):
        self.random, self.on_change = random, on_change
        self.files = {}
        super().__init__(name, "")

    def xOpen(self, name, flags):  # noqa: N802 - the name that SQLite gives it
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        return UnsyncedFile(self, path, flags)

    def xDelete(self, path, sync_folder):  # noqa: N802
        self.files.pop(path, None)
        super().xDelete(path, sync_folder)

    def crash_image(self, folder):
        """Write the files to `folder` as a power cut would leave them."""
        for path, state in self.files.items():
            content = bytearray(state.durable)
            for offset, data in state.unsynced:
                for start in range(0, len(data), SECTOR):
                    if self.random.random() < 0.5:
                        part = data[start : start + SECTOR]
                        at = offset + start
                        content.extend(bytes(max(0, at + len(part) - len(content))))
                        content[at : at + len(part)] = part
            (folder / path.rsplit("/", 1)[-1]).write_bytes(bytes(content))


class FileState:
    """The content that the program sees, that on disk, and the writes between the two."""

    def __init__(self):
        self.content, self.durable, self.unsynced = bytearray(), b"", []


class UnsyncedFile(apsw.VFSFile):
    def __init__(self, vfs, path, flags):
        self._vfs = vfs
        super().__init__("", path, flags)
        self._state = vfs.files.setdefault(path, FileState()) if path else FileState()

    def xRead(self, amount, offset):  # noqa: N802
        return bytes(self._state.content[offset : offset + amount])

    def xWrite(self, data, offset):  # noqa: N802
        content, data = self._state.content, bytes(data)
        content.extend(bytes(max(0, offset + len(data) - len(content))))
        content[offset : offset + len(data)] = data
        self._state.unsynced.append((offset, data))
        self._vfs.on_change("write")

    def xTruncate(self, size):  # noqa: N802
        del self._state.content[size:]
        self._vfs.on_change("truncate")

    def xFileSize(self):  # noqa: N802
        return len(self._state.content)

    def xSync(self, flags):  # noqa: N802
        self._vfs.on_change("before a sync")
        self._state.durable = bytes(self._state.content)
        self._state.unsynced.clear()
        self._vfs.on_change("sync")
