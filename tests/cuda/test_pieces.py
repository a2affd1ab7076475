"""Small pieces of device memory are kept for reuse, and counted as the tensors that use them."""

from types import SimpleNamespace

from minigrad.backends.cuda.pieces import SMALL, Pieces


def pieces():
    """Pieces of a pool that counts what it was asked for, and what came back."""
    asked = []

    def request(nbytes):
        asked.append(nbytes)
        return SimpleNamespace(handle=1000 * len(asked))

    return Pieces(request), asked


def test_a_small_piece_is_used_again_and_a_large_one_goes_back():
    held, asked = pieces()
    first = held.take(100)
    address = first.address
    del first
    again = held.take(512)
    assert again.address == address and asked == [512]
    other = held.take(513)
    assert other.address != address and asked == [512, 1024]
    large = held.take(SMALL + 1)
    del large
    held.take(SMALL + 1)
    assert asked == [512, 1024, SMALL + 512, SMALL + 512]


def test_bytes_in_use_and_the_most_of_them():
    held, _ = pieces()
    x, y = held.take(0), held.take(600)
    assert (held.allocated, held.peak) == (512 + 1024, 512 + 1024)
    del y
    assert (held.allocated, held.peak) == (512, 512 + 1024)
    del x
    assert held.allocated == 0


def test_what_is_kept_goes_back_on_request_and_nothing_is_kept_with_a_second_stream():
    held, asked = pieces()
    x = held.take(1)
    del x
    held.release()
    x = held.take(1)
    assert asked == [512, 512]
    held.share()
    del x
    held.take(1)
    assert asked == [512] * 3 and not held.kept
