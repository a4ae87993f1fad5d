//! Random short scripts with a random operation failing: what was acknowledged is there, in order
//! and whole, nothing else is, and with the fault gone everything can be written (R32, R53, R54).

use super::places::{Files, Place, Stored};
use super::{ASSISTANT, Call, Context, Run, USER, image, is_best_effort};
use crate::manager::SessionManager;
use crate::support::rounds;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

#[derive(Clone, Debug)]
enum Step {
    User,
    Assistant,
    Image,
    Label(u8),
    Branch(u8),
    Summary(u8),
    Rename(u8),
    Rewrite(u8),
    Flush,
    Close,
    EnsureOnDisk,
    Fork,
    BranchFile(u8),
    New,
    Back(u8),
    Move(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let pick = any::<u8>;
    prop_oneof![
        4 => Just(Step::User),
        4 => Just(Step::Assistant),
        2 => Just(Step::Image),
        1 => pick().prop_map(Step::Label),
        2 => pick().prop_map(Step::Branch),
        1 => pick().prop_map(Step::Summary),
        2 => pick().prop_map(Step::Rename),
        2 => pick().prop_map(Step::Rewrite),
        2 => Just(Step::Flush),
        1 => Just(Step::Close),
        2 => Just(Step::EnsureOnDisk),
        1 => Just(Step::Fork),
        1 => pick().prop_map(Step::BranchFile),
        1 => Just(Step::New),
        1 => pick().prop_map(Step::Back),
        1 => (0u8..3).prop_map(Step::Move),
    ]
}

impl Run<'_> {
    fn pick(&self, pick: u8) -> Option<usize> {
        let count = self.sessions.get(self.current)?.entries.len();
        (count > 0).then(|| usize::from(pick) % count)
    }

    fn pick_id(&self, pick: u8) -> Option<String> {
        Some(self.sessions[self.current].entries[self.pick(pick)?].id.clone())
    }

    /// R32: the explicit retry.
    fn ensure_on_disk(&mut self) {
        let Some(manager) = &mut self.manager else { return };
        let result = manager.ensure_on_disk();
        let now = manager.title().map(str::to_owned);
        let session = &mut self.sessions[self.current];
        session.started = true;
        if self.called(Call::Rewrite, result).is_some() {
            let session = &mut self.sessions[self.current];
            session.names = vec![now];
            for entry in &mut session.entries {
                entry.acknowledged = true;
                entry.texts.drain(..entry.texts.len() - 1);
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::User => self.append(|manager| manager.append_message(USER)),
            Step::Assistant => self.start(),
            Step::Image => self.append(|manager| manager.append_message(&image())),
            Step::Label(pick) => {
                if let Some(id) = self.pick_id(*pick) {
                    self.append(|manager| manager.append_label_change(&id, Some("label")));
                }
            }
            Step::Branch(pick) => {
                if let Some(at) = self.pick(*pick) {
                    self.branch(at);
                }
            }
            Step::Summary(pick) => {
                let id = self.pick_id(*pick);
                self.append(|manager| manager.branch_with_summary(id.as_deref(), "what was", None, None));
            }
            Step::Rename(name) => self.rename(&format!("Name {name}")),
            Step::Rewrite(pick) => {
                let is_message = |at: &usize| {
                    let texts = &self.sessions[self.current].entries[*at].texts;
                    texts.last().is_some_and(|text| text.starts_with("{\"type\":\"message\""))
                };
                if let Some(at) = self.pick(*pick).filter(is_message) {
                    // It starts the session, even when it fails.
                    let latched = self.manager.as_ref().is_some_and(|m| m.persist_status().error.is_some());
                    self.sessions[self.current].started |= !latched;
                    self.rewrite(at, &format!("changed {pick}"));
                }
            }
            Step::Flush => drop(self.write(Call::Write, SessionManager::flush)),
            Step::Close => drop(self.write(Call::Write, SessionManager::close)),
            Step::EnsureOnDisk => self.ensure_on_disk(),
            Step::Fork => self.leave(SessionManager::fork),
            Step::BranchFile(pick) => {
                if let Some(id) = self.pick_id(*pick) {
                    self.leave(|manager| manager.create_branched_session(&id));
                }
            }
            Step::New => {
                // It has begun also when what was before could not be closed.
                let Some(manager) = &mut self.manager else { return };
                let result = manager.new_session(None);
                self.called(Call::Leave, result);
                self.enter(&[]);
            }
            Step::Back(pick) => {
                let files: Vec<_> = self.sessions.iter().map(|session| session.path.clone()).collect();
                let path = files[usize::from(*pick) % files.len()].clone();
                if self.place.read(&path).is_some() {
                    self.leave(|manager| manager.set_session_file(path));
                }
            }
            Step::Move(to) => {
                let cwd = self.place.dir().join(format!("project {to}"));
                if self.manager.as_ref().is_some_and(|manager| manager.cwd() != cwd) {
                    self.move_to(&cwd);
                }
            }
        }
    }
}

fn script(run: &mut Run<'_>, steps: &[Step]) {
    let cwd = run.place.dir().join("project 0");
    run.make(&[], |options| options.create(cwd));
    for step in steps {
        if run.manager.is_none() {
            return;
        }
        run.step(step);
    }
}

/// Runs the script as it is, then with one of its operations failing.
fn faulty(make: fn() -> Box<dyn Place>, steps: &[Step], pick: u16, way: u8, stays: bool) {
    let place = make();
    let mut run = Run::new(&*place);
    run.operations = Some(Vec::new());
    place.plan(None, false);
    script(&mut run, steps);
    place.end();
    assert_eq!(run.failed, Vec::<usize>::new());
    run.check_files(0);
    let operations = run.operations.take().unwrap();
    if operations.is_empty() {
        return;
    }
    let at = usize::from(pick) % operations.len();
    let (call, operation) = &operations[at];
    let place = make();
    let ways = place.faults(operation);
    let fault = ways[usize::from(way) % ways.len()];
    let mut run = Run::new(&*place);
    place.plan(Some((at, fault)), stays);
    let _context = Context(format!("operation {at} {operation} of call {call}: {fault:?}, stays {stays}"));
    script(&mut run, steps);
    place.end();
    run.check_files(usize::from(stays || !place.cuts_back()));
    let reported = run.failed.contains(call);
    assert!(reported || is_best_effort(operation, run.calls[*call]), "not reported");
    run.check_retry(stays);
}

fn random(make: fn() -> Box<dyn Place>, cases: u32) {
    let long = std::env::var_os("LEAFLOG_LONG").is_some();
    let cases = if long { cases * 50 } else { cases };
    let input = (prop::collection::vec(step(), 1..14), any::<u16>(), any::<u8>(), any::<bool>());
    rounds(|seed| {
        let rng_seed = RngSeed::Fixed(seed);
        let config = Config { cases, rng_seed, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
        let result = TestRunner::new(config).run(&input, |(steps, pick, way, stays)| {
            faulty(make, &steps, pick, way, stays);
            Ok(())
        });
        if let Err(error) = result {
            panic!("{error}");
        }
    });
}

#[test]
fn random_faults_in_files() {
    random(|| Box::new(Files::new()), 300);
}

#[test]
fn random_faults_in_a_storage() {
    random(|| Box::new(Stored::new()), 300);
}

// The steps reach what they are about.
#[test]
fn all_steps() {
    let place = Files::new();
    let mut run = Run::new(&place);
    let steps = [
        Step::User,
        Step::Assistant,
        Step::Image,
        Step::Label(0),
        Step::Branch(0),
        Step::Summary(1),
        Step::Rename(1),
        Step::Rewrite(0),
        Step::Close,
        Step::Fork,
        Step::BranchFile(1),
        Step::Move(1),
        Step::New,
        Step::EnsureOnDisk,
        Step::Back(0),
        Step::Flush,
    ];
    script(&mut run, &steps);
    assert_eq!(run.sessions.len(), 4);
    run.check_files(0);
    let text = String::from_utf8(place.read(&run.sessions[0].path).unwrap()).unwrap();
    assert!(text.contains(ASSISTANT) && text.contains("changed 0") && text.contains("Name 1"), "{text}");
}
