//! [`Forgetful`] as a mounted file system: the kernel's FUSE protocol, as much of it as Dunlin and
//! RocksDB use, by hand (decision 27). `mount` gets the connection as its standard input.

use std::ffi::OsStr;
use std::fs::File as Device;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::forgetful::{Directory, EINVAL, Errno, File, Forgetful, Node, Number, ROOT};
use crate::harness::random::Random;

const ENOSYS: Errno = 38;
const EOPNOTSUPP: Errno = 95;
/// Most bytes of a write.
const WRITE_MAX: u32 = 128 << 10;
/// The kernel may keep names and attributes: nobody else changes them.
const VALID_S: u64 = 3_600;

/// A mounted file system; dropping it unmounts it and forgets everything.
pub struct Mounted {
    path: PathBuf,
    files: Arc<Mutex<Forgetful>>,
    server: Option<JoinHandle<()>>,
}

impl Mounted {
    /// Mounts an empty one on `path`. `None`, with the reason printed, where that is not allowed.
    pub fn mount(path: &Path) -> Option<Mounted> {
        std::fs::create_dir_all(path).unwrap();
        let mut mounted = Mounted {
            path: path.to_owned(),
            files: Arc::new(Mutex::new(Forgetful::new())),
            server: None,
        };
        match mounted.connect() {
            Ok(()) => Some(mounted),
            Err(reason) => {
                println!("skipped: a FUSE file system cannot be mounted here: {reason}");
                None
            }
        }
    }

    fn connect(&mut self) -> Result<(), String> {
        let device = Device::options().read(true).write(true).open("/dev/fuse");
        let device = device.map_err(|error| format!("/dev/fuse: {error}"))?;
        let output = Command::new("mount")
            .args(["-i", "-t", "fuse", "-o"])
            .arg("fd=0,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions")
            .arg("dunlin-test")
            .arg(&self.path)
            .stdin(device.try_clone().map_err(|error| error.to_string())?)
            .output()
            .map_err(|error| format!("mount: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        let files = Arc::clone(&self.files);
        self.server = Some(std::thread::spawn(move || serve(device, &files)));
        Ok(())
    }

    /// The power goes: what was not synced is gone. Nothing may have files open any more. With
    /// `luck`, some of it had reached the disk all the same.
    pub fn cut(&mut self, luck: Option<&mut Random>) {
        self.unmount();
        assert!(self.server.is_none(), "the file system is in use");
        self.files.lock().unwrap().cut(luck);
        self.connect().unwrap();
    }

    fn unmount(&mut self) {
        let plain = Command::new("umount").arg(&self.path).output();
        if !plain.is_ok_and(|output| output.status.success()) {
            // A process about to be reaped may still have files open.
            let _ = Command::new("umount").arg("-l").arg(&self.path).status();
            return;
        }
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.unmount();
    }
}

/// Answers the kernel until the file system is unmounted.
fn serve(mut device: Device, files: &Mutex<Forgetful>) {
    let mut buffer = vec![0; WRITE_MAX as usize + 4_096];
    loop {
        let length = match device.read(&mut buffer) {
            Ok(length) => length,
            // No such device: unmounted. Anything else: a request was withdrawn.
            Err(error) if error.raw_os_error() == Some(19) => return,
            Err(_) => continue,
        };
        let Some(request) = Request::new(&buffer[..length]) else {
            return;
        };
        let Some(answer) = answer(&request, &mut files.lock().unwrap()) else {
            continue;
        };
        let (error, body) = match answer {
            Ok(body) => (0, body.0),
            Err(error) => (-error, Vec::new()),
        };
        let mut reply = Bytes::default();
        reply.u32(16 + body.len() as u32);
        reply.u32(error as u32);
        reply.u64(request.unique);
        reply.0.extend_from_slice(&body);
        // A request that was withdrawn takes no answer.
        let _ = device.write_all(&reply.0);
    }
}

/// One request, taken apart.
struct Request<'a> {
    operation: u32,
    unique: u64,
    node: Number,
    body: &'a [u8],
}

impl<'a> Request<'a> {
    fn new(bytes: &'a [u8]) -> Option<Request<'a>> {
        let (head, body) = bytes.split_at_checked(40)?;
        let head = Request {
            operation: 0,
            unique: 0,
            node: 0,
            body: head,
        };
        Some(Request {
            operation: head.u32(4),
            unique: head.u64(8),
            node: head.u64(16),
            body,
        })
    }

    fn u32(&self, at: usize) -> u32 {
        self.body[at..]
            .first_chunk()
            .map_or(0, |b| u32::from_le_bytes(*b))
    }

    fn u64(&self, at: usize) -> u64 {
        self.body[at..]
            .first_chunk()
            .map_or(0, |b| u64::from_le_bytes(*b))
    }

    /// The names from `at` on, each ended by a zero.
    fn name(&self, at: usize, which: usize) -> &'a OsStr {
        let names = self.body[at..].split(|byte| *byte == 0);
        OsStr::from_bytes(names.into_iter().nth(which).unwrap_or_default())
    }
}

/// What a reply is put together from.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u16(&mut self, number: u16) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn u64(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn zeros(&mut self, count: usize) {
        self.0.resize(self.0.len() + count, 0);
    }

    fn attributes(&mut self, number: Number, node: &Node) {
        let (size, mode) = match node {
            Node::File(file) => (file.bytes.len() as u64, 0o100_644),
            Node::Directory(_) => (0, 0o040_755),
        };
        self.u64(number);
        self.u64(size);
        self.u64(size.div_ceil(512));
        // Times, all of them 1970.
        self.zeros(3 * 8 + 3 * 4);
        self.u32(mode);
        self.u32(1);
        // Owner, group, device.
        self.zeros(3 * 4);
        self.u32(4_096);
        self.u32(0);
    }
}

type Answer = Result<Bytes, Errno>;

fn entry(files: &Forgetful, number: Number) -> Answer {
    let mut reply = Bytes::default();
    reply.u64(number);
    reply.u64(0);
    reply.u64(VALID_S);
    reply.u64(VALID_S);
    reply.u64(0);
    reply.attributes(number, files.node(number)?);
    Ok(reply)
}

fn attributes(files: &Forgetful, number: Number) -> Answer {
    let mut reply = Bytes::default();
    reply.u64(VALID_S);
    reply.u64(0);
    reply.attributes(number, files.node(number)?);
    Ok(reply)
}

/// `None` where the kernel wants no answer.
fn answer(request: &Request, files: &mut Forgetful) -> Option<Answer> {
    let node = request.node;
    Some(match request.operation {
        // FORGET, INTERRUPT, BATCH_FORGET.
        2 | 36 | 42 => return None,
        // LOOKUP
        1 => files
            .look_up(node, request.name(0, 0))
            .and_then(|number| entry(files, number)),
        // GETATTR
        3 => attributes(files, node),
        // SETATTR: of all of them, only a file's length is kept.
        4 if request.u32(0) & 8 != 0 => {
            let length = request.u64(16) as usize;
            let resized = files.file(node).map(|file| file.resize(length));
            resized.and_then(|()| attributes(files, node))
        }
        4 => attributes(files, node),
        // MKNOD, MKDIR
        8 => make(files, request, 16, Node::File(File::default())),
        9 => make(files, request, 8, Node::Directory(Directory::default())),
        // UNLINK, RMDIR
        10 | 11 => files
            .remove(node, request.name(0, 0))
            .map(|()| Bytes::default()),
        // RENAME, RENAME2
        12 => rename(files, request, 8),
        45 if request.u32(8) == 0 => rename(files, request, 16),
        45 => Err(EINVAL),
        // LINK
        13 => {
            let linked = files.link(request.u64(0), node, request.name(8, 0));
            linked.and_then(|()| entry(files, request.u64(0)))
        }
        // OPEN, OPENDIR
        14 | 27 => {
            let mut reply = Bytes::default();
            reply.zeros(16);
            Ok(reply)
        }
        // READ
        15 => files.file(node).map(|file| {
            let (at, size) = (request.u64(8) as usize, request.u32(16) as usize);
            let begin = at.min(file.bytes.len());
            let end = (begin + size).min(file.bytes.len());
            Bytes(file.bytes[begin..end].to_vec())
        }),
        // WRITE
        16 => files.file(node).map(|file| {
            let size = request.u32(16);
            file.write(
                request.u64(8) as usize,
                &request.body[40..40 + size as usize],
            );
            let mut reply = Bytes::default();
            reply.u32(size);
            reply.u32(0);
            reply
        }),
        // STATFS: room enough.
        17 => {
            let mut reply = Bytes::default();
            for number in [1 << 24, 1 << 24, 1 << 24, 1 << 20, 1 << 20] {
                reply.u64(number);
            }
            for number in [4_096, 255, 4_096] {
                reply.u32(number);
            }
            reply.zeros(28);
            Ok(reply)
        }
        // FSYNC, FSYNCDIR
        20 | 30 => files.sync(node).map(|()| Bytes::default()),
        // RELEASE, FLUSH, RELEASEDIR, DESTROY
        18 | 25 | 29 | 38 => Ok(Bytes::default()),
        // INIT
        26 => Ok(init(request)),
        // READDIR
        28 => list(files, request),
        // CREATE
        35 => make(files, request, 16, Node::File(File::default())).map(|mut reply| {
            reply.zeros(16);
            reply
        }),
        // FALLOCATE: longer, or no longer than it is.
        43 if request.u32(24) <= 1 => {
            let (keep, end) = (request.u32(24) == 1, request.u64(8) + request.u64(16));
            files.file(node).map(|file| {
                if !keep && end as usize > file.bytes.len() {
                    file.resize(end as usize);
                }
                Bytes::default()
            })
        }
        43 => Err(EOPNOTSUPP),
        _ => Err(ENOSYS),
    })
}

fn make(files: &mut Forgetful, request: &Request, name: usize, node: Node) -> Answer {
    let number = files.make(request.node, request.name(name, 0), node)?;
    entry(files, number)
}

fn rename(files: &mut Forgetful, request: &Request, names: usize) -> Answer {
    let from = (request.node, request.name(names, 0));
    let to = (request.u64(0), request.name(names, 1));
    files.rename(from, to).map(|()| Bytes::default())
}

fn init(request: &Request) -> Bytes {
    let mut reply = Bytes::default();
    reply.u32(7);
    reply.u32(31);
    reply.u32(request.u32(8));
    // Big writes, and more than 32 pages in one.
    reply.u32(request.u32(12) & (1 << 5 | 1 << 22));
    reply.u16(16);
    reply.u16(12);
    reply.u32(WRITE_MAX);
    // Times in nanoseconds.
    reply.u32(1);
    reply.u16((WRITE_MAX / 4_096) as u16);
    reply.u16(0);
    reply.zeros(32);
    reply
}

fn list(files: &mut Forgetful, request: &Request) -> Answer {
    let (offset, size) = (request.u64(8) as usize, request.u32(16) as usize);
    let names: Vec<(Vec<u8>, Number)> = [(b".".to_vec(), request.node), (b"..".to_vec(), ROOT)]
        .into_iter()
        .chain({
            let names = files.directory(request.node)?.names.iter();
            names.map(|(name, number)| (name.as_bytes().to_vec(), *number))
        })
        .collect();
    let mut reply = Bytes::default();
    for (place, (name, number)) in names.iter().enumerate().skip(offset) {
        if reply.0.len() + 24 + name.len().next_multiple_of(8) > size {
            break;
        }
        let is_directory = matches!(files.node(*number), Ok(Node::Directory(_)));
        reply.u64(*number);
        reply.u64(place as u64 + 1);
        reply.u32(name.len() as u32);
        reply.u32(if is_directory { 4 } else { 8 });
        reply.0.extend_from_slice(name);
        reply.zeros(name.len().next_multiple_of(8) - name.len());
    }
    Ok(reply)
}

/// The kernel and this agree: files come and go, and only what was synced survives a cut.
#[test]
fn a_mounted_one_forgets() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("forgetful");
    let Some(mut mounted) = Mounted::mount(&path) else {
        return;
    };
    let sync = |path: &Path| Device::open(path).unwrap().sync_all().unwrap();
    std::fs::create_dir_all(path.join("a/b")).unwrap();
    for synced in ["", "a", "a/b"] {
        sync(&path.join(synced));
    }
    let big: Vec<u8> = (0..1_000_000_u32).map(|byte| byte as u8).collect();
    std::fs::write(path.join("a/big"), &big).unwrap();
    std::fs::write(path.join("a/new"), b"new").unwrap();
    assert!(std::fs::rename(path.join("a/absent"), path.join("x")).is_err());
    std::fs::rename(path.join("a/new"), path.join("a/newer")).unwrap();
    sync(&path.join("a/big"));
    sync(&path.join("a"));
    std::fs::write(path.join("a/b/lost"), b"lost").unwrap();
    std::fs::remove_file(path.join("a/newer")).unwrap();
    let mut names: Vec<_> = std::fs::read_dir(path.join("a"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["b", "big"]);
    mounted.cut(None);
    assert_eq!(std::fs::read(path.join("a/big")).unwrap(), big);
    // Its name was synced, its bytes were not.
    assert_eq!(std::fs::read(path.join("a/newer")).unwrap(), b"");
    assert!(!path.join("a/b/lost").exists());
}
