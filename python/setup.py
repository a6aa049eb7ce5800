"""
What pyproject.toml cannot say: the version and the platform of the libraries
that python/build has put into tessera/lib. Build with python/build or
`scons wheel`.
"""
import os

from setuptools import setup
from setuptools.dist import Distribution

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70
    from wheel.bdist_wheel import bdist_wheel


class WithLibraries(Distribution):
    """The package holds code of a machine, though setuptools compiles none."""

    def has_ext_modules(self):
        return True


class AnyPython(bdist_wheel):
    """ctypes serves each Python 3."""

    def get_tag(self):
        return "py3", "none", os.environ["TSR_WHEEL_PLATFORM"]


setup(
    version=os.environ["TSR_WHEEL_VERSION"], distclass=WithLibraries,
    cmdclass={"bdist_wheel": AnyPython}
)
