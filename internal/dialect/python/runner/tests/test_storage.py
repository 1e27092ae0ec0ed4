from __future__ import annotations

import os
import stat
import sys
import unittest
from pathlib import Path
from unittest import mock

from plugins import PluginError, delete_plugin, list_plugins, save_plugin

from . import PluginCase


class StorageTest(PluginCase):
    def test_the_default_directory_is_below_home(self):
        self.write("one", "")
        with mock.patch.dict(os.environ, {"HOME": str(self.home)}):
            self.assertEqual(list_plugins(), [self.dir / "one.py"])

    def test_plugins_are_listed_by_name(self):
        for name in ("b", "a-2", "a", "_private", "__init__", ".hidden"):
            self.write(name, "")
        (self.dir / "notes.txt").write_text("")
        (self.dir / "folder.py").mkdir()
        self.assertEqual([p.stem for p in list_plugins(self.dir)], ["_private", "a", "a-2", "b"])

    def test_a_missing_directory_is_empty(self):
        self.assertEqual(list_plugins(self.home / "nowhere"), [])

    def test_save_writes_the_file_and_returns_its_path(self):
        folder = self.home / "new" / "folder"
        path = save_plugin("my_plugin", "x = 'é'\n", folder)
        self.assertEqual(path, folder / "my_plugin.py")
        self.assertEqual(path.read_bytes(), "x = 'é'\n".encode())

    def test_save_replaces_at_once_and_leaves_no_draft(self):
        path = self.write("a", "x = 1")
        before = path.stat().st_ino
        save_plugin("a", "x = 2", self.dir)
        self.assertEqual(path.read_text(), "x = 2")
        self.assertNotEqual(path.stat().st_ino, before)
        self.assertEqual(os.listdir(self.dir), ["a.py"])

    def test_save_keeps_the_permissions(self):
        path = self.write("a", "")
        path.chmod(0o600)
        save_plugin("a", "x = 2", self.dir)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)

    def test_save_does_not_write_through_a_link(self):
        real = self.home / "real.py"
        real.write_text("x = 1")
        (self.dir / "a.py").symlink_to(real)
        save_plugin("a", "x = 2", self.dir)
        self.assertFalse((self.dir / "a.py").is_symlink())
        self.assertEqual((self.dir / "a.py").read_text(), "x = 2")
        self.assertEqual(real.read_text(), "x = 1")

    def test_save_refuses_invalid_code_and_keeps_the_old_file(self):
        path = self.write("a", "x = 1")
        with self.assertRaisesRegex(PluginError, "SyntaxError"):
            save_plugin("a", "def f(:", self.dir)
        self.assertEqual(path.read_text(), "x = 1")

    def test_names_that_lead_elsewhere_are_refused(self):
        for name in ("", "../x", "a/b", "a.b", "-a", ".a", "a b", "ä", "a\n", "x" * 65, "a\x00", None):
            with self.subTest(name), self.assertRaisesRegex(ValueError, "Invalid plugin name"):
                save_plugin(name, "", self.dir)
            with self.subTest(name), self.assertRaisesRegex(ValueError, "Invalid plugin name"):
                delete_plugin(name, self.dir)

    def test_names_that_python_uses_are_refused(self):
        with self.assertRaisesRegex(ValueError, "Python itself uses"):
            save_plugin("__init__", "", self.dir)

    def test_names_that_are_allowed(self):
        for name in ("a", "_a", "9", "a-b_C", "x" * 64):
            with self.subTest(name):
                self.assertTrue(save_plugin(name, "", self.dir).is_file())

    def test_delete(self):
        self.write("a", "")
        self.assertTrue(delete_plugin("a", self.dir))
        self.assertFalse(delete_plugin("a", self.dir))
        self.assertEqual(list_plugins(self.dir), [])

    @unittest.skipIf(sys.platform == "win32" or os.geteuid() == 0, "root may write anywhere, and Windows ignores the mode")
    def test_a_directory_that_cannot_be_written_is_an_oserror(self):
        self.dir.chmod(0o500)
        self.addCleanup(Path.chmod, self.dir, 0o700)
        with self.assertRaises(OSError):
            save_plugin("a", "", self.dir)
