"""Streams and events: work runs on the stream of its thread, and the device receives every dependency."""

import threading

import pytest

import minigrad as mg
from minigrad.errors import ArgumentError


def test_work_goes_to_the_stream_of_a_with_block_and_back():
    s, t = mg.cuda.Stream(), mg.cuda.Stream(priority=-1)
    default = mg.cuda.current_stream()
    assert default == mg.cuda.default_stream() and default.cuda_stream == 1 and s != t and len({s, t, s}) == 2
    with mg.cuda.stream(s):
        assert mg.cuda.current_stream() == s
        with t, mg.cuda.stream(None):
            assert mg.cuda.current_stream() == t
            y = mg.ones(3, device="cuda") * 2
        assert mg.cuda.current_stream() == s
    assert mg.cuda.current_stream() == default and y.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(ZeroDivisionError), s:
        1 // 0
    assert mg.cuda.current_stream() == default
    mg.cuda.set_stream(s)
    assert mg.cuda.current_stream() == s
    mg.cuda.set_stream(default)
    s.synchronize()
    mg.cuda.synchronize()
    assert s.query() and repr(s) == f"mg.cuda.Stream({s.cuda_stream:#x})"


def test_a_stream_is_that_of_a_thread():
    s, found = mg.cuda.Stream(), []
    with s:
        thread = threading.Thread(target=lambda: found.append(mg.cuda.current_stream()))
        thread.start()
        thread.join()
    assert found == [mg.cuda.default_stream()]


def test_an_event_tells_the_time_between():
    start, end = (mg.cuda.Event(enable_timing=True) for _ in range(2))
    assert start.query() and repr(start) == "mg.cuda.Event(not recorded)"
    start.record()
    y = mg.ones(8, device="cuda") + 1
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 0 and end.query() and y.sum().item() == 16.0
    assert repr(end) == "mg.cuda.Event(done)"


def test_events_that_cannot_tell_the_time_say_why():
    timed, plain = mg.cuda.Event(enable_timing=True), mg.cuda.Event()
    with pytest.raises(ArgumentError, match="the first event was never recorded"):
        timed.elapsed_time(timed)
    timed.record()
    plain.record()
    with pytest.raises(ArgumentError, match="the second event was made without enable_timing=True"):
        timed.elapsed_time(plain)


def test_streams_wait_for_each_other_where_they_are_told_to(simulator):
    s, t = mg.cuda.Stream(), mg.cuda.Stream()
    event = s.record_event()
    t.wait_event(event)
    t.wait_stream(s)
    assert t.native.waited[0] is event.position and len(t.native.waited) == 2 and not s.native.waited
    event.wait(s)
    mg.cuda.Event().wait(s)
    assert s.native.waited == [event.position]
