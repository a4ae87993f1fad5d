//! After each step: the files against the model, and the managers, and a fresh look at the files.

use super::context::{self, Context, Entry};
use super::state::{Seen, State};
use super::world::World;
use leaflog::{EntryRef, Leaf, SessionView, ViewOptions};
use std::collections::BTreeMap;

fn time_ms(text: &str) -> i64 {
    // 2026-01-01T00:00:00Z is date -u -d 2026-01-01 +%s.
    let number = |range: std::ops::Range<usize>| text[range].parse::<i64>().unwrap();
    let days = match &text[5..7] {
        "01" => number(8..10) - 1,
        "02" => 31 + number(8..10) - 1,
        _ => unreachable!(),
    };
    (1_767_225_600 + days * 86400 + number(11..13) * 3600 + number(14..16) * 60 + number(17..19)) * 1000
}

fn id(entry: EntryRef<'_>) -> String {
    entry.id().unwrap().into_owned()
}

fn ids<'v>(entries: impl IntoIterator<Item = EntryRef<'v>>) -> Vec<String> {
    entries.into_iter().map(id).collect()
}

fn of_view(context: &leaflog::SessionContext) -> Context {
    Context {
        messages: context.messages().map(|message| message.to_string()).collect(),
        thinking: context.thinking_level.clone(),
        tier: context.service_tier.clone(),
        models: context.models.clone(),
        name: context.active_context_name.clone(),
        tenant: context.active_context_tenant.clone(),
        rules: context.injected_ttsr_rules.clone(),
        tools: context.selected_mcp_tool_names.clone(),
        has_tools: context.has_persisted_mcp_tool_selection,
        mode: context.mode.clone(),
        mode_data: context.mode_data().map(|data| data.to_string()),
    }
}

/// What is shown of an entry.
fn shown(seen: &Seen, real: EntryRef<'_>) -> String {
    let text = real.loaded_text().unwrap();
    let text = String::from_utf8(text.json().bytes().to_vec()).unwrap();
    let expected = seen.item.shown(seen.whole, seen.own);
    assert!(text == expected, "{}: shown as\n{text:.2000}\nexpected\n{expected:.2000}", seen.item.id);
    text
}

/// Compares a view with what it must hold.
fn view(view: &SessionView, state: &State, leaf: Option<&str>) {
    let lines: Vec<&str> = state.entries().map(|seen| &*seen.item.id).collect();
    assert_eq!(ids(view.entries()), lines);
    let nodes = state.nodes();
    let order: Vec<&str> = nodes.iter().map(|seen| &*seen.item.id).collect();
    assert_eq!(view.leaf().map(id).as_deref(), leaf, "the leaf");
    assert_eq!(view.header().json().to_string(), serde_json::to_string(&state.header).unwrap());
    assert_eq!([view.title(), view.title_source()], state.title().each_ref().map(Option::as_deref), "the title");
    let mut entries = BTreeMap::new();
    let mut usage = [0.0; 3];
    for (at, (seen, real)) in state.entries().zip(view.entries()).enumerate() {
        // The last line of an id is its entry (R49).
        let last = lines.iter().rposition(|id| *id == seen.item.id);
        assert_eq!(view.entry(&seen.item.id).map(|entry| entry.position()), last);
        assert_eq!(real.is_superseded(), last != Some(at));
        assert_eq!(real.time_ms(), Some(time_ms(&seen.item.time)));
        let entry = Entry {
            id: seen.item.id.clone(),
            kind: seen.item.kind.clone(),
            time_ms: time_ms(&seen.item.time),
            text: shown(seen, real),
        };
        if last == Some(at) {
            let more = context::usage(&entry);
            usage.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        entries.insert(seen.item.id.clone(), entry);
    }
    assert_eq!([view.usage().input, view.usage().output, view.usage().cost], usage, "usage");
    let labels: Vec<(String, String)> =
        view.labels().map(|(target, label)| (target.into_owned(), label.into_owned())).collect();
    assert_eq!(labels, state.labels());
    // The first entry of a cycle is a root (R49).
    let is_cut = |seen: &Seen| {
        let path = state.path_to(&seen.item.id);
        let last = path.first().unwrap();
        let back = last.item.parent.as_deref().is_some_and(|parent| parent == seen.item.id);
        back && path.iter().all(|other| {
            order.iter().position(|id| *id == other.item.id) >= order.iter().position(|id| *id == seen.item.id)
        })
    };
    let parent = |seen: &Seen| state.above(seen).map(|above| above.item.id.clone()).filter(|_| !is_cut(seen));
    let mut children: BTreeMap<String, Vec<&Seen>> = BTreeMap::new();
    let mut roots = Vec::new();
    for seen in &nodes {
        match parent(seen) {
            Some(parent) => children.entry(parent).or_default().push(seen),
            None => roots.push(seen.item.id.clone()),
        }
    }
    assert_eq!(ids(view.roots()), roots);
    let leaves: Vec<&str> = order.iter().copied().filter(|id| !children.contains_key(*id)).collect();
    assert_eq!(ids(view.leaves()), leaves);
    for seen in &nodes {
        let real = view.entry(&seen.item.id).unwrap();
        let mut below = children.remove(&seen.item.id).unwrap_or_default();
        assert_eq!(ids(real.children()), below.iter().map(|seen| &*seen.item.id).collect::<Vec<_>>());
        below.sort_by_key(|seen| time_ms(&seen.item.time));
        assert_eq!(ids(real.children_by_time()), below.iter().map(|seen| &*seen.item.id).collect::<Vec<_>>());
        let parent = state.above(seen);
        assert_eq!(real.parent().map(id).as_ref(), parent.map(|parent| &parent.item.id));
    }
    // Contexts from the leaf, and from the entry in the middle.
    let middle = order.get(order.len() / 2).copied();
    for from in [leaf, middle].into_iter().flatten() {
        let path = state.path_to(from);
        assert_eq!(ids(view.branch(from).unwrap()), path.iter().map(|seen| &*seen.item.id).collect::<Vec<_>>());
        let path: Vec<Entry> = path
            .iter()
            .map(|seen| {
                let Entry { id, kind, time_ms, text } = &entries[&seen.item.id];
                Entry { id: id.clone(), kind: kind.clone(), time_ms: *time_ms, text: text.clone() }
            })
            .collect();
        let real = view.context(Leaf::Id(from)).unwrap();
        assert_eq!(of_view(&real), context::context(&path));
        if Some(from) == leaf {
            assert_eq!(view.context(Leaf::Last).unwrap(), real);
        }
    }
    if leaf.is_none() {
        assert_eq!(view.context(Leaf::Last).unwrap(), leaflog::SessionContext::default());
    }
}

impl World {
    pub fn check(&mut self) {
        self.check_files();
        for manager in self.managers.iter().flatten() {
            let (real, state) = (&manager.real, &manager.state);
            if self.is_stale(state) {
                // What is read is what somebody wrote over it.
                let lines: Vec<&str> = state.entries().map(|seen| &*seen.item.id).collect();
                assert_eq!(ids(real.entries()), lines);
                assert_eq!(real.leaf().map(id), state.leaf);
            } else {
                view(real, state, state.leaf.as_deref());
            }
            assert_eq!(real.session_file(), state.path.as_deref());
            assert_eq!(real.cwd(), state.cwd);
            assert_eq!(real.session_dir(), state.dir);
            assert_eq!(real.session_id(), state.text("id").unwrap());
            let status = real.persist_status();
            assert!(status.error.is_none());
            assert_eq!(status.unsaved, state.entries().filter(|seen| !seen.saved).count());
        }
        if self.steps.is_multiple_of(3) {
            self.look_afresh();
        }
    }

    pub fn check_files(&self) {
        let paths: Vec<_> = self.files.keys().cloned().collect();
        assert_eq!(self.place.sessions(), paths);
        for (path, file) in &self.files {
            let (found, expected) = (self.place.lines(path), file.texts());
            for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert!(found == expected, "line {at} of {path:?} is\n{found:.2000}\nexpected\n{expected:.2000}");
            }
            assert_eq!(found.len(), expected.len(), "lines of {path:?}:\n{:?}", file.lines);
        }
        assert_eq!(self.place.artifacts(), self.artifacts);
    }

    /// Reads the files as another program would.
    fn look_afresh(&self) {
        for (path, file) in &self.files {
            let mut state = State::default();
            self.load(&mut state, path);
            let bytes = self.place.read(path).unwrap();
            let fresh = ViewOptions::new().blobs(self.place.blobs()).read_bytes(bytes).unwrap();
            let last = state.entries().next_back().map(|seen| seen.item.id.clone());
            view(&fresh, &state, last.as_deref());
            let report = fresh.report().unwrap();
            let found = [report.fragments.len(), report.spread_values.len(), report.trailing_text.len()];
            assert_eq!(found, file.damage(), "fragments, values over several lines, and text behind a value");
            for manager in self.managers.iter().flatten() {
                // Who has seen the file as it is knows as much as who reads it now.
                if manager.state.path.as_ref() == Some(path) && manager.state.is_up_to_date(file) {
                    let lines = |view: &SessionView| view.entries().map(|entry| entry.line()).collect::<Vec<_>>();
                    assert_eq!(lines(&manager.real), lines(&fresh));
                    assert_eq!(manager.real.report().unwrap(), fresh.report().unwrap());
                }
            }
        }
    }
}
