"""Traffic volumes: which distribution they follow, how large a link should be, what the bill will be."""

from anabranch.traffic.bin import Binned, FileReport, Gap, bin_files
from anabranch.traffic.series import Volumes

__all__ = ["Binned", "FileReport", "Gap", "Volumes", "bin_files"]
