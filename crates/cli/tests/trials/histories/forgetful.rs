//! A file system that remembers, beside what it holds, what of it was synced: after a power cut only
//! that is left. Data and names count apart, as POSIX has it: `fsync` of a file keeps its bytes, and
//! `fsync` of a directory keeps which names are in it.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};

use crate::harness::random::Random;

pub type Number = u64;

/// The root directory's.
pub const ROOT: Number = 1;

/// An error number of the kernel's.
pub type Errno = i32;
pub const ENOENT: Errno = 2;
pub const EEXIST: Errno = 17;
pub const ENOTDIR: Errno = 20;
pub const EISDIR: Errno = 21;
pub const EINVAL: Errno = 22;
pub const ENOTEMPTY: Errno = 39;

/// Files and directories by their numbers.
pub struct Forgetful {
    nodes: HashMap<Number, Node>,
    last: Number,
}

pub enum Node {
    File(File),
    Directory(Directory),
}

#[derive(Default)]
pub struct File {
    pub bytes: Vec<u8>,
    /// What was there before each change since the last sync.
    changes: Vec<Change>,
}

/// To be undone: these bytes go back to `at`, and the file ends at `length`.
struct Change {
    at: usize,
    before: Vec<u8>,
    length: usize,
}

#[derive(Default)]
pub struct Directory {
    pub names: BTreeMap<OsString, Number>,
    synced: BTreeMap<OsString, Number>,
}

impl Forgetful {
    pub fn new() -> Forgetful {
        Forgetful {
            nodes: HashMap::from([(ROOT, Node::Directory(Directory::default()))]),
            last: ROOT,
        }
    }

    pub fn node(&self, number: Number) -> Result<&Node, Errno> {
        self.nodes.get(&number).ok_or(ENOENT)
    }

    pub fn file(&mut self, number: Number) -> Result<&mut File, Errno> {
        match self.nodes.get_mut(&number) {
            Some(Node::File(file)) => Ok(file),
            Some(Node::Directory(_)) => Err(EISDIR),
            None => Err(ENOENT),
        }
    }

    pub fn directory(&mut self, number: Number) -> Result<&mut Directory, Errno> {
        match self.nodes.get_mut(&number) {
            Some(Node::Directory(directory)) => Ok(directory),
            Some(Node::File(_)) => Err(ENOTDIR),
            None => Err(ENOENT),
        }
    }

    pub fn look_up(&mut self, parent: Number, name: &OsStr) -> Result<Number, Errno> {
        let names = &self.directory(parent)?.names;
        names.get(name).copied().ok_or(ENOENT)
    }

    pub fn make(&mut self, parent: Number, name: &OsStr, node: Node) -> Result<Number, Errno> {
        let number = self.last + 1;
        let names = &mut self.directory(parent)?.names;
        if names.contains_key(name) {
            return Err(EEXIST);
        }
        names.insert(name.to_owned(), number);
        self.nodes.insert(number, node);
        self.last = number;
        Ok(number)
    }

    pub fn link(&mut self, node: Number, parent: Number, name: &OsStr) -> Result<(), Errno> {
        let names = &mut self.directory(parent)?.names;
        if names.contains_key(name) {
            Err(EEXIST)
        } else {
            names.insert(name.to_owned(), node);
            Ok(())
        }
    }

    /// Removes a name. What it named stays: it may be open, or come back with a power cut.
    pub fn remove(&mut self, parent: Number, name: &OsStr) -> Result<(), Errno> {
        let number = self.look_up(parent, name)?;
        if let Node::Directory(directory) = self.node(number)?
            && !directory.names.is_empty()
        {
            return Err(ENOTEMPTY);
        }
        self.directory(parent)?.names.remove(name);
        Ok(())
    }

    pub fn rename(
        &mut self,
        (parent, name): (Number, &OsStr),
        (new_parent, new_name): (Number, &OsStr),
    ) -> Result<(), Errno> {
        let number = self.look_up(parent, name)?;
        if self.look_up(new_parent, new_name) == Ok(number) {
            return Ok(());
        }
        self.directory(new_parent)?
            .names
            .insert(new_name.to_owned(), number);
        self.directory(parent)?.names.remove(name);
        Ok(())
    }

    /// `fsync` or `fdatasync` of a file, or of a directory.
    pub fn sync(&mut self, number: Number) -> Result<(), Errno> {
        match self.nodes.get_mut(&number).ok_or(ENOENT)? {
            Node::File(file) => file.changes.clear(),
            Node::Directory(directory) => directory.synced = directory.names.clone(),
        }
        Ok(())
    }

    /// The power goes, and comes back. With `luck`, some of what was not synced had reached the disk:
    /// of each file the first few changes, of directories all or nothing.
    pub fn cut(&mut self, mut luck: Option<&mut Random>) {
        let mut numbers: Vec<Number> = self.nodes.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            let mut kept = |changes: usize| match &mut luck {
                Some(random) => random.below(changes + 1),
                None => 0,
            };
            match self.nodes.get_mut(&number) {
                Some(Node::File(file)) => file.forget(kept(file.changes.len())),
                Some(Node::Directory(directory)) if kept(1) == 0 => {
                    directory.names = directory.synced.clone();
                }
                Some(Node::Directory(directory)) => directory.synced = directory.names.clone(),
                None => {}
            }
        }
        let mut reached = vec![ROOT];
        let mut left = HashMap::new();
        while let Some(number) = reached.pop() {
            if let Some(node) = self.nodes.remove(&number) {
                if let Node::Directory(directory) = &node {
                    reached.extend(directory.names.values());
                }
                left.insert(number, node);
            }
        }
        self.nodes = left;
    }
}

impl File {
    pub fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        self.change(at, end);
        if end > self.bytes.len() {
            self.bytes.resize(end, 0);
        }
        self.bytes[at..end].copy_from_slice(bytes);
    }

    pub fn resize(&mut self, length: usize) {
        self.change(length, self.bytes.len());
        self.bytes.resize(length, 0);
    }

    fn change(&mut self, from: usize, to: usize) {
        let length = self.bytes.len();
        let before = self.bytes.get(from..to.min(length)).unwrap_or_default();
        self.changes.push(Change {
            at: from,
            before: before.to_vec(),
            length,
        });
    }

    fn forget(&mut self, kept: usize) {
        for change in self.changes.drain(kept..).rev() {
            self.bytes.resize(change.length, 0);
            let end = change.at + change.before.len();
            if !change.before.is_empty() {
                self.bytes[change.at..end].copy_from_slice(&change.before);
            }
        }
        self.changes.clear();
    }
}

#[test]
fn only_what_was_synced_is_left() {
    let mut files = Forgetful::new();
    let name = |name: &'static str| OsStr::new(name);
    let file = |files: &mut Forgetful, parent, name, bytes: &[u8]| {
        let number = files
            .make(parent, name, Node::File(File::default()))
            .unwrap();
        files.file(number).unwrap().write(0, bytes);
        number
    };
    let directory = Node::Directory(Directory::default());
    let directory = files.make(ROOT, name("d"), directory).unwrap();
    let kept = file(&mut files, directory, name("kept"), b"0123456789");
    files.sync(kept).unwrap();
    let unnamed = file(&mut files, ROOT, name("unnamed"), b"x");
    files.sync(directory).unwrap();
    files.sync(ROOT).unwrap();
    files.remove(ROOT, name("unnamed")).unwrap();
    files.sync(unnamed).unwrap();
    files.sync(ROOT).unwrap();
    let gone = file(&mut files, directory, name("gone"), b"x");
    files.sync(gone).unwrap();
    let written = files.file(kept).unwrap();
    written.write(4, b"abc");
    written.resize(2);
    written.write(8, b"wxyz");
    assert_eq!(written.bytes, b"01\0\0\0\0\0\0wxyz");
    files
        .rename((directory, name("kept")), (ROOT, name("moved")))
        .unwrap();
    files.cut(None);
    assert_eq!(files.file(kept).unwrap().bytes, b"0123456789");
    assert_eq!(files.look_up(directory, name("kept")), Ok(kept));
    for (parent, lost) in [(ROOT, "moved"), (ROOT, "unnamed"), (directory, "gone")] {
        assert_eq!(files.look_up(parent, name(lost)), Err(ENOENT), "{lost}");
    }
}
