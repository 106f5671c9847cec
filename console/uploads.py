"""Files in forms: no form of the console takes any, so none is kept, and long bodies are not read."""

from typing import IO, Any, NoReturn

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler, SkipFile


class NoFiles(FileUploadHandler):
    """Leaves out every file of a multipart form.

    Django's own handlers write files of any length to disk, before the CSRF check and for whoever sends them.
    """

    def handle_raw_input(
        self,
        input_data: IO[bytes],
        META: dict[str, Any],  # noqa: N803 Django passes it by this name
        content_length: int,
        boundary: str,
        encoding: str | None = None,
    ) -> None:
        """Raise `RequestDataTooBig` for a body longer than other forms may be, before anything of it is read."""
        if content_length > (settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0):
            raise RequestDataTooBig

    def new_file(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Read over the file."""
        raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Nothing is left of a file."""

    def file_complete(self, file_size: int) -> None:
        """There is no file."""
