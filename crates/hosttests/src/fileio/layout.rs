//! The layout of blocks over files: which file and offset each block has.

use std::path::{Path, PathBuf};

/// The test's files: all of the same length, in whole blocks.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    folder: PathBuf,
    files: u64,
    blocks_of_file: u64,
    pub(super) block_size: u64,
}

/// Consecutive blocks of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) file: usize,
    pub(super) offset: u64,
    pub(super) length: usize,
}

impl Layout {
    pub(super) fn new(folder: &Path, files: u32, block_size: u64, total_size: u64) -> Self {
        let files = u64::from(files);
        let blocks_of_file = total_size / files / block_size;
        Self { folder: folder.to_owned(), files, blocks_of_file, block_size }
    }

    /// The name is sysbench's, so that both programs can use each other's files.
    pub(super) fn path(&self, file: usize) -> PathBuf {
        self.folder.join(format!("test_file.{file}"))
    }

    /// The size of each file in bytes.
    pub(super) fn file_length(&self) -> u64 {
        self.blocks_of_file * self.block_size
    }

    /// The number of blocks in all files.
    pub(super) fn blocks(&self) -> u64 {
        self.files * self.blocks_of_file
    }

    /// Up to `most` blocks from number `block` on, but only within the block's file.
    pub(super) fn span(&self, block: u64, most: u64) -> Span {
        let within = block % self.blocks_of_file;
        let blocks = most.min(self.blocks_of_file - within);
        Span {
            file: (block / self.blocks_of_file) as usize,
            offset: within * self.block_size,
            length: (blocks * self.block_size) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_follow_each_other_file_by_file() {
        let layout = Layout::new(Path::new("/x"), 3, 100, 1_000);
        assert_eq!((layout.blocks(), layout.file_length()), (9, 300));
        assert_eq!(layout.path(2), Path::new("/x/test_file.2"));
        assert_eq!(layout.span(0, 1), Span { file: 0, offset: 0, length: 100 });
        assert_eq!(layout.span(7, 5), Span { file: 2, offset: 100, length: 200 });
    }
}
