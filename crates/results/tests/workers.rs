//! A folder that is opened while workers of an earlier sweep still write there.

use crate::resume::{FIRST, SECOND, complete, folder, names, plan};
use anabranch_results::lab::{Book, LabError, run_one};
use anabranch_results::storage::{Item, Locking};
use anabranch_results::{Directory, Opening, Place, Storage, StoreError};
use anabranch_sim::experiment::Progress;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A directory where something else happens meanwhile.
struct Meanwhile<F> {
    root: PathBuf,
    here: Directory,
    locked: AtomicBool,
    /// Is told what the command is about to do, from the lock on: `list`, `remove_folder`; and where.
    happens: F,
}

impl<F> std::fmt::Debug for Meanwhile<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.root.fmt(f)
    }
}

impl<F: Fn(&str, &str) + Send + Sync> Meanwhile<F> {
    fn new(root: PathBuf, happens: F) -> Arc<Self> {
        Arc::new(Self { here: Directory::new(&root), root, locked: AtomicBool::new(false), happens })
    }

    fn tell(&self, call: &str, path: &str) {
        if self.locked.load(Ordering::Relaxed) {
            (self.happens)(call, path);
        }
    }
}

impl<F: Fn(&str, &str) + Send + Sync> Storage for Meanwhile<F> {
    fn shown(&self, path: &str) -> String {
        self.here.shown(path)
    }

    fn renames(&self) -> bool {
        true
    }

    fn make(&self) -> io::Result<()> {
        self.here.make()
    }

    fn lock(&self) -> io::Result<Locking> {
        let locked = self.here.lock();
        self.locked.store(true, Ordering::Relaxed);
        locked
    }

    fn list(&self, into: &dyn Fn(&str) -> bool) -> io::Result<Vec<Item>> {
        if into("runs") {
            self.tell("list", "runs");
        }
        self.here.list(into)
    }

    fn read(&self, files: &[String]) -> io::Result<Vec<Option<Vec<u8>>>> {
        self.here.read(files)
    }

    fn ends_with(&self, file: &str, mark: &[u8]) -> bool {
        self.here.ends_with(file, mark)
    }

    fn write(&self, file: &str, content: &[u8]) -> io::Result<()> {
        self.here.write(file, content)
    }

    fn create(&self, file: &str, content: &[u8]) -> io::Result<()> {
        self.here.create(file, content)
    }

    fn remove(&self, files: &[String]) -> io::Result<()> {
        self.here.remove(files)
    }

    fn remove_folder(&self, folder: &str) -> io::Result<()> {
        self.tell("remove_folder", folder);
        self.here.remove_folder(folder)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.here.rename(from, to)
    }
}

fn resuming(token: &str) -> Opening {
    Opening { resume: true, force: false, token: Some(token.to_owned()) }
}

#[test]
fn a_draft_that_a_worker_still_writes_is_in_nobodys_way() {
    let out = folder("written");
    let plan = plan(&[]);
    complete(&plan, &out, false);
    for folder in [".p000-s1.0a1b2c3d.part/packets", ".p000-s2.0a1b2c3d.part"] {
        fs::create_dir_all(out.join("runs").join(folder)).expect("it is not there");
    }
    let root = out.clone();
    let storage = Meanwhile::new(out.clone(), move |call, path| {
        if call == "remove_folder" && path.contains("p000-s1") {
            fs::write(root.join("runs/.p000-s1.0a1b2c3d.part/packets/h0.pcapng"), "").expect("it is there");
        }
    });
    let book = Book::open(&plan, storage, &resuming(FIRST), &[]).expect("nothing is in the way");
    assert!(book.missing(&plan).expect("it can be run").is_empty());
    assert_eq!(names(&out.join("runs")), [".p000-s1.0a1b2c3d.part", "p000-s1", "p000-s2", "p000-s3"]);
    book.close().expect("it can be written");
    assert_eq!(complete(&plan, &out, true).1, 3);
    assert_eq!(names(&out.join("runs")), ["p000-s1", "p000-s2", "p000-s3"]);
}

#[test]
fn a_complete_run_of_a_worker_that_died_goes_once_another_has_its_name() {
    let out = folder("died");
    let plan = plan(&["repeat=2"]);
    let book = Book::open(&plan, Arc::new(Directory::new(&out)), &resuming(FIRST), &[]).expect("nothing is in the way");
    let place = Place(Arc::new(Directory::new(&out)));
    let made = |run: usize, name: &str| {
        let draft = out.join("runs").join(name);
        run_one(&plan, run, &draft, &Progress::new(plan.runs.len())).expect("nothing fails");
        draft
    };
    // Killed before it gave it its name. Another makes the first again, nobody the second, of which one has the first's name.
    made(0, ".p000-s1.0a1b2c3d.part");
    made(1, ".p000-s2.0a1b2c3d.part");
    made(1, ".p000-s1.8c9d0e1f.part");
    let again = made(0, ".p000-s1.4e5f6a7b.part");
    place.publish(&again, "p000-s1", &plan.runs[0].hash, Some(FIRST)).expect("it is in its place");
    book.close().expect("it can be written");
    assert_eq!(names(&out.join("runs")), [".p000-s1.8c9d0e1f.part", ".p000-s2.0a1b2c3d.part", "p000-s1"]);
    assert_eq!(complete(&plan, &out, true).1, 2);
    assert_eq!(names(&out.join("runs")), ["p000-s1", "p000-s2"]);
}

#[test]
fn workers_of_a_sweep_that_is_gone_store_nothing_once_the_folder_is_locked() {
    let out = folder("gone");
    let plan = plan(&["repeat=1"]);
    drop(Book::open(&plan, Arc::new(Directory::new(&out)), &resuming(FIRST), &[]).expect("nothing is in the way"));
    let draft = out.join("runs/.p000-s1.0a1b2c3d.part");
    run_one(&plan, 0, &draft, &Progress::new(1)).expect("nothing fails");
    let (place, hash) = (Place(Arc::new(Directory::new(&out))), plan.runs[0].hash.clone());
    let listed = Arc::new(AtomicUsize::new(0));
    let times = Arc::clone(&listed);
    let storage = Meanwhile::new(out.clone(), move |call, _| {
        // At first it is not decided whether the command ends that sweep.
        if call == "list" && times.fetch_add(1, Ordering::Relaxed) > 0 {
            let late = place.publish(&draft, "p000-s1", &hash, Some(FIRST));
            assert!(matches!(late, Err(StoreError::Superseded(_))), "{late:?}");
        }
    });
    let book = Book::open(&plan, storage, &resuming(SECOND), &[]).expect("nothing is in the way");
    assert_eq!(listed.load(Ordering::Relaxed), 2);
    assert!(book.missing(&plan).expect("it can be run").is_empty());
    assert_eq!(names(&out.join("runs")), ["p000-s1"]);
}

#[test]
fn a_command_that_is_refused_ends_nobodys_sweep() {
    let out = folder("refused");
    complete(&plan(&["repeat=1"]), &out, false);
    // Of another machine, where the file system has no locks.
    fs::write(out.join(FIRST), "").expect("it can be written");
    let other = plan(&["repeat=1", "transport.scdp.initial_window=9"]);
    let open = || Book::open(&other, Arc::new(Directory::new(&out)), &resuming(SECOND), &[]);
    assert!(matches!(open(), Err(LabError::Store(StoreError::Lost { .. }))));
    assert!(out.join(FIRST).is_file());
    fs::write(out.join("runs/p000-s1/notes.txt"), "mine").expect("it can be written");
    let how = Opening { force: true, ..resuming(SECOND) };
    let refused = Book::open(&other, Arc::new(Directory::new(&out)), &how, &[]);
    assert!(matches!(refused, Err(LabError::Store(StoreError::NotOurs { .. }))));
    assert!(out.join(FIRST).is_file());
}

#[test]
fn what_only_looks_like_a_name_of_ours_stays() {
    let out = folder("looks");
    let plan = plan(&["repeat=1"]);
    complete(&plan, &out, false);
    for name in ["run.part", ".sweep-notes", &format!("{FIRST}.txt"), FIRST] {
        fs::write(out.join(name), "mine").expect("it can be written");
    }
    fs::create_dir(out.join(SECOND)).expect("it can be made");
    assert_eq!(complete(&plan, &out, true).1, 1);
    let there: Vec<String> =
        names(&out).into_iter().filter(|name| name.starts_with(".sweep-") || name.contains("part")).collect();
    assert_eq!(there, [&format!("{FIRST}.txt"), SECOND, ".sweep-notes", "run.part"]);
    // Nor does a download make a folder one of ours.
    let other = folder("download");
    fs::create_dir_all(&other).expect("it can be made");
    fs::write(other.join("run.part"), "mine").expect("it can be written");
    let refused = Place(Arc::new(Directory::new(&other)))
        .check(&[], false, false)
        .expect_err("it is no result folder")
        .to_string();
    assert!(refused.contains("holds 'run.part'"), "{refused}");
}

#[test]
fn a_folder_with_the_name_of_a_file_of_ours_is_left_or_told() {
    let out = folder("folders");
    let plan = plan(&["repeat=1"]);
    for name in ["manifest.part", FIRST] {
        complete(&plan, &out, false);
        fs::create_dir(out.join(name)).expect("it is not there");
        assert_eq!(complete(&plan, &out, true).1, 1);
        assert!(out.join(name).is_dir());
    }
    let place = Place(Arc::new(Directory::new(&out)));
    for name in [".manifest.json.part", ".fabric.json.part"] {
        for ours in [true, false] {
            let (there, place) = if ours { (out.clone(), place.clone()) } else { elsewhere() };
            fs::create_dir_all(there.join(name)).expect("it can be made");
            let refused = place.check(&[], true, false).expect_err("a file has to be written there").to_string();
            assert!(refused.contains(&format!("holds '{name}', which is not part of an experiment")), "{refused}");
            fs::remove_dir(there.join(name)).expect("it is there");
        }
    }
}

/// A folder that holds no results yet.
fn elsewhere() -> (PathBuf, Place) {
    let out = folder("no-results");
    (out.clone(), Place(Arc::new(Directory::new(out))))
}
