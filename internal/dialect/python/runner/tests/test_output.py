from __future__ import annotations

import logging
import os
import threading
import unittest

from plugins.output import LogLines, Output, Stream, current_plugin


class OutputTest(unittest.TestCase):
    def setUp(self) -> None:
        self.source, sink = os.pipe()
        self.addCleanup(os.close, self.source)
        self.addCleanup(os.close, sink)
        os.set_blocking(self.source, False)
        self.output = Output(sink)
        token = current_plugin.set("p")
        self.addCleanup(current_plugin.reset, token)

    def written(self) -> str:
        try:
            return os.read(self.source, 1 << 20).decode().replace("\x1e", "|")
        except BlockingIOError:
            return ""

    def test_every_line_has_its_plugin(self):
        print("one\ntwo", file=Stream(self.output, 1))
        self.assertEqual(self.written(), "|p|I|one\n|p|I|two\n")

    def test_a_line_is_sent_whole(self):
        stream = Stream(self.output, 1)
        print("a", end="", file=stream)
        print("b", end="", file=stream)
        self.assertEqual(self.written(), "")
        print("c", file=stream)
        self.assertEqual(self.written(), "|p|I|abc\n")

    def test_lines_of_two_plugins_do_not_mix(self):
        stream = Stream(self.output, 1)
        print("a", end="", file=stream)
        token = current_plugin.set("q")
        print("b", file=stream)
        current_plugin.reset(token)
        print("c", file=stream)
        self.assertEqual(self.written(), "|q|I|b\n|p|I|ac\n")

    def test_the_end_of_a_handler_ends_its_line(self):
        print("a", end="", file=Stream(self.output, 1))
        self.output.finish("q")
        self.assertEqual(self.written(), "")
        self.output.finish("p")
        self.output.finish("p")
        self.assertEqual(self.written(), "|p|I|a\n")

    def test_a_line_without_end_is_given_one(self):
        Stream(self.output, 1).write("x" * (17 << 10))
        self.assertEqual(len(self.written()), (17 << 10) + len("|p|I|\n"))

    def test_log_records_bring_their_level(self):
        log = logging.getLogger("test.output")
        log.propagate, log.handlers = False, [LogLines(self.output)]
        log.setLevel(logging.DEBUG)
        log.debug("a")
        log.info("b %s", 1)
        log.warning("c")
        log.critical("d")
        self.assertEqual(self.written(), "|p|D|a\n|p|I|b 1\n|p|W|c\n|p|E|d\n")

    def test_half_a_surrogate_is_escaped(self):
        print("\ud800é", file=Stream(self.output, 1))
        self.assertEqual(self.written(), "|p|I|\\ud800é\n")

    def test_bytes_can_be_written_too(self):
        stream = Stream(self.output, 1)
        stream.buffer.write("é\n".encode())
        stream.buffer.flush()
        self.assertEqual(self.written(), "|p|I|é\n")
        with self.assertRaises(TypeError):
            stream.write(b"bytes")

    def test_a_stream_has_the_methods_that_scripts_expect(self):
        stream = Stream(self.output, 2)
        stream.reconfigure(encoding="utf-8")
        stream.flush()
        self.assertEqual((stream.fileno(), stream.encoding), (2, "utf-8"))
        self.assertEqual((stream.isatty(), stream.writable()), (False, True))

    def test_threads_write_whole_lines(self):
        stream = Stream(self.output, 1)
        workers = [threading.Thread(target=lambda: [stream.write("word\n") for _ in range(50)]) for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(set(self.written().splitlines()), {"||I|word"})
