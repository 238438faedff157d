"""Images: what is in the store, and what a failed pull says."""

from __future__ import annotations

import pytest

from podsync.errors import ImageFault
from podsync.testing.conformance.suite import Suite

__all__ = ["ImageConformance"]


class ImageConformance(Suite):
    """``Images``."""

    def test_present_image(self) -> None:
        """Found by name and by the id it tells."""
        image = self.runtime.image(self.image)
        assert image is not None
        assert image.id
        assert image.reference
        again = self.runtime.image(image.id)
        assert again is not None
        assert again.id == image.id

    def test_present_image_by_its_short_name(self) -> None:
        """A manifest may leave registry and tag out."""
        short = self.image.removeprefix("docker.io/library/").removesuffix(":latest")
        long, found = self.runtime.image(self.image), self.runtime.image(short)
        assert long is not None
        assert found is not None
        assert found.id == long.id

    def test_absent_image(self) -> None:
        """None, not an error."""
        assert self.runtime.image(self.absent_image) is None

    @pytest.mark.parametrize("image", ["localhost:1/podsync/absent:latest", "localhost:1/podsync/absent"])
    def test_failed_pull(self, image: str) -> None:
        """An ImageFault with the engine's words; the store is as before."""
        with pytest.raises(ImageFault) as caught:
            self.runtime.pull_image(image)
        assert str(caught.value)
        assert self.runtime.image(image) is None

    @pytest.mark.parametrize("image", ["UPPER/case:x", "white space", "a:b:c", "-"])
    def test_pull_of_what_is_no_name(self, image: str) -> None:
        """An ImageFault as well."""
        with pytest.raises(ImageFault):
            self.runtime.pull_image(image)
