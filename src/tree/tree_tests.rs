//! The tree against walks made the slow way.

use super::{Ancestry, Id, Names, Parent, Slot, Tree, hex_id};
use crate::entry::{EntryKind, Role};
use crate::load;
use crate::storage::Source;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The tree of entries of these ids and parents.
fn tree<'a>(entries: impl IntoIterator<Item = (Option<&'a str>, Option<&'a str>)>) -> Tree {
    let mut text = String::new();
    for (id, parent) in entries {
        text.push_str(&entry(id, parent));
    }
    of_text(&text)
}

fn entry(id: Option<&str>, parent: Option<&str>) -> String {
    let id = id.map_or_else(String::new, |id| format!(",\"id\":\"{id}\""));
    let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
    format!("{{\"type\":\"custom\"{id},\"parentId\":{parent}}}\n")
}

/// Entries with ids, written `id:parent`; `id` alone is a root.
fn pairs(text: &str) -> Tree {
    tree(text.split_whitespace().map(|pair| {
        let (id, parent) = pair.split_once(':').map_or((pair, None), |(id, parent)| (id, Some(parent)));
        (Some(id), parent)
    }))
}

fn of_text(text: &str) -> Tree {
    let mut scan = load::scan(&Source::Bytes(text.into()), None).unwrap();
    Tree::build(&mut scan)
}

fn ids(tree: &Tree, indices: impl IntoIterator<Item = u32>) -> String {
    indices.into_iter().map(|index| tree.id(index).unwrap().into_owned()).collect::<Vec<_>>().join(" ")
}

fn children(tree: &Tree, id: &str) -> String {
    ids(tree, tree.children(tree.find(id.as_bytes()).unwrap()))
}

fn up(tree: &Tree, id: &str) -> String {
    ids(tree, tree.towards_root(tree.find(id.as_bytes()).unwrap()))
}

fn cycles(tree: &Tree) -> Vec<String> {
    tree.cycles().into_iter().map(|cycle| ids(tree, cycle)).collect()
}

#[test]
fn a_slot_is_32_bytes() {
    assert_eq!(size_of::<Slot>(), 32);
}

// R7, R18: children in file order, roots, leaves, the way up.
#[test]
fn branches() {
    let tree = pairs("a b:a c:b d:a e:d f r:f");
    assert_eq!(ids(&tree, tree.roots().iter().copied()), "a f");
    assert_eq!(ids(&tree, tree.leaves()), "c e r");
    assert_eq!(children(&tree, "a"), "b d");
    assert_eq!(children(&tree, "c"), "");
    assert_eq!(up(&tree, "e"), "e d a");
    assert_eq!(ids(&tree, tree.path(tree.find(b"c").unwrap())), "a b c");
    assert_eq!(tree.leaf(), Some(6));
    assert!(tree.cycles().is_empty());
    assert_eq!(tree.find(b"g"), None);
    assert_eq!(tree.find(b""), None);
}

#[test]
fn nothing() {
    let tree = pairs("");
    assert_eq!((tree.count(), tree.leaf(), tree.roots().len(), tree.leaves().len()), (0, None, 0, 0));
}

// R17: the last entry with an id is the leaf. R7: one without is in no walk.
#[test]
fn entries_without_id() {
    let tree = tree([(Some("a"), None), (None, Some("a")), (Some("b"), Some("a")), (None, Some("b"))]);
    assert_eq!(tree.count(), 4);
    assert_eq!(tree.leaf(), Some(2));
    assert_eq!(ids(&tree, tree.roots().iter().copied()), "a");
    assert_eq!(children(&tree, "a"), "b");
    assert_eq!(ids(&tree, tree.leaves()), "b");
    assert_eq!(tree.id(1), None);
}

// R49: a missing parent makes a root; a parent may come later.
#[test]
fn orphans_and_forward_parents() {
    let tree = pairs("a:gone b:c c:a d:b e:feedface");
    assert_eq!(ids(&tree, tree.roots().iter().copied()), "a e");
    assert_eq!(up(&tree, "d"), "d b c a");
    assert!(tree.cycles().is_empty());
    assert_eq!(tree.parent(0), None);
    assert!(matches!(tree.slot(0).parent(), Parent::Id(Id::Name(_))));
    assert!(matches!(tree.slot(4).parent(), Parent::Id(Id::Hex(0xfeed_face))));
}

// R49: getEntries has every line, the tree the last of each id, at the place of the first.
#[test]
fn duplicates() {
    let tree = pairs("r a:r b:r a:b c:a b:r a:r");
    assert!(tree.has_duplicates());
    assert_eq!(tree.count(), 7);
    assert_eq!(tree.find(b"a"), Some(6));
    assert_eq!(tree.find(b"b"), Some(5));
    assert_eq!(
        (0..7).map(|index| tree.slot(index).is_superseded()).collect::<Vec<_>>(),
        [false, true, true, true, false, false, false]
    );
    assert_eq!(ids(&tree, tree.nodes()), "r a b c");
    // a stands before b, as their first lines do.
    assert_eq!(children(&tree, "r"), "a b");
    assert_eq!(children(&tree, "a"), "c");
    assert_eq!(up(&tree, "c"), "c a r");
    assert_eq!((tree.first_line(6), tree.first_line(5), tree.first_line(4)), (1, 2, 4));
    assert_eq!(tree.leaf(), Some(6));
    // The last line is not a descendant of its own earlier lines.
    let moved = pairs("a b:a a:b");
    assert_eq!(cycles(&moved), ["a b"]);
    // The parent of the line before counts only when it is the last of its id.
    let close = pairs("r x:r y:x x");
    assert_eq!(up(&close, "y"), "y x");
    assert_eq!(ids(&close, close.roots().iter().copied()), "r x");
}

// R49: the first entry of a cycle in file order is a root; walks end.
#[test]
fn cycles_and_their_tails() {
    let own = pairs("a:a b:a");
    assert_eq!(cycles(&own), ["a"]);
    assert_eq!(ids(&own, own.roots().iter().copied()), "a");
    assert_eq!((up(&own, "a"), up(&own, "b")), ("a".into(), "b a".into()));
    assert_eq!(children(&own, "a"), "b");
    assert_eq!(ids(&own, own.leaves()), "b");

    let two = pairs("x a:b b:a t:a u:t");
    assert_eq!(cycles(&two), ["a b"]);
    assert_eq!(ids(&two, two.roots().iter().copied()), "x a");
    assert_eq!(children(&two, "a"), "b t");
    assert_eq!(children(&two, "b"), "");
    assert_eq!(up(&two, "u"), "u t a b");
    assert_eq!(up(&two, "b"), "b a");
    assert_eq!(ids(&two, two.leaves()), "x b u");

    // A tail that stands before the cycle it leads into, and one that meets it in the middle.
    let tails = pairs("t:c a:c b:a c:b s:b q:t");
    assert_eq!(cycles(&tails), ["a b c"]);
    assert_eq!(ids(&tails, tails.roots().iter().copied()), "a");
    assert_eq!(up(&tails, "q"), "q t c b a");
    assert_eq!(up(&tails, "s"), "s b a c");
    assert_eq!(children(&tails, "b"), "c s");
    assert_eq!(children(&tails, "c"), "t");
    for member in ["a", "b", "c"] {
        assert!(tails.slot(tails.find(member.as_bytes()).unwrap()).is_in_cycle());
    }
    assert!(!tails.slot(tails.find(b"t").unwrap()).is_in_cycle());

    // Several, in the order of their first entries, each in file order.
    let several = pairs("z:y p:q y:x q:p x:z s:s r");
    assert_eq!(cycles(&several), ["z y x", "p q", "s"]);
    assert_eq!(ids(&several, several.roots().iter().copied()), "z p s r");

    // Duplicates: the place of a cycle's entry is that of its first line.
    let placed = pairs("a b:c c:b a:a b:c");
    assert_eq!(cycles(&placed), ["a", "b c"]);
    assert_eq!(ids(&placed, placed.roots().iter().copied()), "a b");
}

// R49: children without a valid date come last; equal dates keep the order of the file.
#[test]
fn children_by_time() {
    let mut text = String::from("{\"type\":\"custom\",\"id\":\"r\",\"parentId\":null}\n");
    for (id, time) in [
        ("none", "null"),
        ("third", "\"2026-02-16T10:00:03.000Z\""),
        ("bad", "\"soon\""),
        ("first", "\"1969-12-31T23:59:59.999Z\""),
        ("second", "\"2026-02-16T10:00:01.000Z\""),
        ("same", "\"2026-02-16T10:00:01Z\""),
        ("number", "5"),
    ] {
        writeln!(text, "{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":\"r\",\"timestamp\":{time}}}").unwrap();
    }
    let tree = of_text(&text);
    assert_eq!(ids(&tree, tree.children_by_time(0)), "first number second same third none bad");
    assert_eq!(ids(&tree, tree.children(0)), "none third bad first second same number");
}

// R45: ids by their characters, however they are spelled.
#[test]
fn spelled_ids() {
    let tree = of_text(concat!(
        r#"{"type":"custom","id":"\u0061b","parentId":null}"#,
        "\n",
        r#"{"type":"custom","id":"0000000\u0031","parentId":"a\u0062"}"#,
        "\n",
        r#"{"type":"custom","\u0069d":"c","parentId":"\u00300000001"}"#,
        "\n",
        r#"{"type":"custom","id":"\n\"","parentId":"c"}"#,
        "\n",
    ));
    assert_eq!(up(&tree, "\n\""), "\n\" c 00000001 ab");
    assert_eq!(tree.slot(1).id(), Some(Id::Hex(1)));
    // Upper case, seven and nine digits are other ids.
    let near = pairs("0000000a 0000000A 000000a 00000000a");
    assert_eq!(near.roots().len(), 4);
    assert_eq!(near.find(b"0000000A"), Some(1));
    assert_eq!(near.find(b"00000000a"), Some(3));
}

#[test]
fn hex_ids() {
    assert_eq!(hex_id(b"00000000"), Some(0));
    assert_eq!(hex_id(b"0123abcd"), Some(0x0123_abcd));
    assert_eq!(hex_id(b"ffffffff"), Some(u32::MAX));
    for other in [
        &b""[..],
        b"0",
        b"0123abc",
        b"0123abcde",
        b"0123ABCD",
        b"0123abcg",
        b"+123abcd",
        b"0123abc/",
        b"0123abc:",
        b"0123abc`",
    ] {
        assert_eq!(hex_id(other), None, "{other:?}");
    }
    for byte in 0..=255u8 {
        let id = [b'0', byte, b'0', b'0', b'0', b'0', b'0', b'0'];
        let digit = matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        assert_eq!(hex_id(&id).is_some(), digit, "{byte:#x}");
    }
}

#[test]
fn slots_keep_id_and_parent_apart() {
    let mut slot = Slot::new(7, 9, EntryKind::Message, Role::User);
    let ids = [Id::Hex(1), Id::Name(2), Id::Hex(u32::MAX), Id::Name(u32::MAX)];
    let parents =
        [Parent::Root, Parent::Entry(3), Parent::Id(Id::Hex(4)), Parent::Id(Id::Name(u32::MAX)), Parent::Root];
    assert_eq!((slot.id(), slot.parent(), slot.is_node()), (None, Parent::Root, false));
    for id in ids {
        for parent in parents {
            slot.set_parent(parent);
            slot.set_id(id);
            assert_eq!((slot.id(), slot.parent()), (Some(id), parent));
            slot.set_parent(parent);
            assert_eq!((slot.id(), slot.parent()), (Some(id), parent));
        }
    }
    assert!(slot.is_node());
    slot.set_id(Id::Name(1));
    slot.set_parent(Parent::Id(Id::Name(2)));
    slot.shift_names(10);
    assert_eq!((slot.id(), slot.parent()), (Some(Id::Name(11)), Parent::Id(Id::Name(12))));
    slot.set_id(Id::Hex(1));
    slot.set_parent(Parent::Entry(2));
    slot.shift_names(10);
    assert_eq!((slot.id(), slot.parent()), (Some(Id::Hex(1)), Parent::Entry(2)));
    // Each flag by itself.
    let flags = |slot: &Slot| {
        (slot.is_superseded(), slot.has_blob_reference(), slot.has_provider_payload(), slot.is_in_cycle())
    };
    assert_eq!(flags(&slot), (false, false, false, false));
    slot.mark_blob_reference();
    assert_eq!(flags(&slot), (false, true, false, false));
    slot.mark_in_cycle();
    assert_eq!(flags(&slot), (false, true, false, true));
    slot.mark_provider_payload();
    slot.supersede();
    assert_eq!(flags(&slot), (true, true, true, true));
    assert!(!slot.is_node());
}

#[test]
fn names() {
    let mut names = Names::default();
    assert_eq!((names.push(b"ab"), names.push(b""), names.push(b"c")), (0, 1, 2));
    let mut other = Names::default();
    other.push(b"");
    other.push(b"xyz");
    names.append(&other);
    assert_eq!(names.len(), 5);
    let all: Vec<&[u8]> = (0..5).map(|name| names.get(name)).collect();
    assert_eq!(all, [&b"ab"[..], b"", b"c", b"", b"xyz"]);
}

fn label(id: &str, target: &str, label: &str) -> String {
    format!("{{\"type\":\"label\",\"id\":\"{id}\",\"parentId\":null,\"targetId\":\"{target}\"{label}}}\n")
}

// R9; the order is that of a JavaScript Map: `m.set` of a known key keeps its place, `m.delete`
// and `m.set` put it last.
#[test]
fn labels() {
    let tree = of_text(
        &[
            label("1", "x", ",\"label\":\"one\""),
            label("2", "y", ",\"label\":\"two\""),
            label("3", "z", ",\"label\":\"three\""),
            label("3k", "k", ",\"label\":\"kept\""),
            label("4", "x", ",\"label\":\"four\""),
            label("5", "y", ""),
            label("6", "y", ",\"label\":\"six\""),
            label("7", "z", ",\"label\":\"\""),
            label("8", "w", ",\"label\":null"),
            label("9", "v", ",\"label\":7"),
            label("10", "\\u0075", ",\"label\":\"\\u0061\\n\""),
            "{\"type\":\"label\",\"id\":\"11\",\"label\":\"no target\"}\n".to_owned(),
            "{\"type\":\"custom\",\"id\":\"12\",\"targetId\":\"x\",\"label\":\"not a label entry\"}\n".to_owned(),
        ]
        .concat(),
    );
    let all: Vec<_> = tree.labels().iter().collect();
    assert_eq!(
        all,
        [("x", "four"), ("k", "kept"), ("y", "six"), ("u", "a\n")]
            .map(|(target, label)| (target.as_bytes(), label.as_bytes()))
    );
    assert_eq!(tree.labels().get(b"x"), Some(&b"four"[..]));
    assert_eq!(tree.labels().get(b"z"), None);
}

// R49: of a label entry on several lines the last counts.
#[test]
fn labels_of_duplicate_ids() {
    let tree = of_text(&(label("1", "x", ",\"label\":\"old\"") + &label("1", "y", ",\"label\":\"new\"")));
    assert_eq!(tree.labels().iter().collect::<Vec<_>>(), [(&b"y"[..], &b"new"[..])]);
}

/// What the statements say of entries `(id, parent id)`, by walks over maps.
struct Model {
    entries: Vec<(Option<u8>, Option<u8>)>,
    last: BTreeMap<u8, usize>,
    first: BTreeMap<u8, usize>,
}

impl Model {
    fn new(entries: Vec<(Option<u8>, Option<u8>)>) -> Self {
        let (mut last, mut first) = (BTreeMap::new(), BTreeMap::new());
        for (at, (id, _)) in entries.iter().enumerate() {
            if let Some(id) = *id {
                last.insert(id, at);
                first.entry(id).or_insert(at);
            }
        }
        Self { entries, last, first }
    }

    fn nodes(&self) -> Vec<usize> {
        let mut nodes: Vec<usize> = self.last.values().copied().collect();
        nodes.sort_by_key(|&node| self.place(node));
        nodes
    }

    fn place(&self, node: usize) -> usize {
        self.first[&self.entries[node].0.unwrap()]
    }

    fn parent(&self, node: usize) -> Option<usize> {
        self.last.get(&self.entries[node].1?).copied()
    }

    fn up(&self, node: usize) -> Vec<usize> {
        let mut path = vec![node];
        while let Some(parent) = self.parent(path[path.len() - 1]).filter(|parent| !path.contains(parent)) {
            path.push(parent);
        }
        path
    }

    fn cycle(&self, node: usize) -> Option<Vec<usize>> {
        let mut cycle = self.up(node);
        if self.parent(cycle[cycle.len() - 1]) != Some(node) {
            return None;
        }
        cycle.sort_by_key(|&node| self.place(node));
        Some(cycle)
    }

    fn tree_parent(&self, node: usize) -> Option<usize> {
        self.parent(node).filter(|_| self.cycle(node).is_none_or(|cycle| cycle[0] != node))
    }

    /// Of the entries, the first `read` are read at once, the others are added one by one.
    fn check(&self, read: usize) {
        // Ids below 128 are hex ids, the others are names.
        let text = |id: u8| if id < 128 { format!("{id:08x}") } else { format!("n{id}") };
        let texts: Vec<_> = self.entries.iter().map(|&(id, parent)| (id.map(text), parent.map(text))).collect();
        let pair = |(id, parent): &'_ (Option<String>, Option<String>)| entry(id.as_deref(), parent.as_deref());
        let mut tree = of_text(&texts[..read].iter().map(pair).collect::<String>());
        for (at, added) in texts.iter().enumerate().skip(read) {
            // What is derived when it is asked for is asked for in between.
            let _: &[u32] = tree.roots();
            let scan = load::scan(&Source::Bytes(pair(added).into()), None).unwrap();
            assert_eq!(tree.extend(scan) as usize, at);
        }
        let sizes = |indices: &[u32]| indices.iter().map(|&index| index as usize).collect::<Vec<_>>();
        let nodes = self.nodes();
        assert_eq!(sizes(&tree.nodes()), nodes);
        if read == texts.len() {
            assert_eq!(tree.leaf().map(|leaf| leaf as usize), self.entries.iter().rposition(|(id, _)| id.is_some()));
        }
        let mut ancestry = Ancestry::new(&tree);
        for &node in &nodes {
            let index = u32::try_from(node).unwrap();
            assert_eq!(tree.find(text(self.entries[node].0.unwrap()).as_bytes()), Some(index));
            let up = self.up(node);
            assert_eq!(sizes(&tree.towards_root(index).collect::<Vec<_>>()), up);
            let below: Vec<usize> =
                nodes.iter().copied().filter(|&child| self.tree_parent(child) == Some(node)).collect();
            assert_eq!(sizes(&tree.children(index).collect::<Vec<_>>()), below);
            assert_eq!(tree.slot(index).is_in_cycle(), self.cycle(node).is_some());
            for &other in &nodes {
                let is_ancestor = up[1..].contains(&other);
                assert_eq!(
                    ancestry.is_ancestor(u32::try_from(other).unwrap(), index),
                    is_ancestor,
                    "{other} of {node}"
                );
            }
        }
        let roots: Vec<usize> = nodes.iter().copied().filter(|&node| self.tree_parent(node).is_none()).collect();
        assert_eq!(sizes(tree.roots()), roots);
        let leaves: Vec<usize> = nodes
            .iter()
            .copied()
            .filter(|&node| nodes.iter().all(|&child| self.tree_parent(child) != Some(node)))
            .collect();
        assert_eq!(sizes(&tree.leaves()), leaves);
        let mut cycles: Vec<Vec<usize>> = nodes.iter().filter_map(|&node| self.cycle(node)).collect();
        cycles.sort();
        cycles.dedup();
        cycles.sort_by_key(|cycle| self.place(cycle[0]));
        assert_eq!(tree.cycles().iter().map(|cycle| sizes(cycle)).collect::<Vec<_>>(), cycles);
        for (at, (id, _)) in self.entries.iter().enumerate() {
            let superseded = id.is_some_and(|id| self.last[&id] != at);
            assert_eq!(tree.slot(u32::try_from(at).unwrap()).is_superseded(), superseded);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_entries(numbers in prop::collection::vec((0u8..24, 0u8..26), 0..24), read in 0usize..48) {
        // Every other id a name; 24 and 25 are in no file; 0 stands for none.
        let spread = |number: u8| (number > 0).then_some(if number.is_multiple_of(2) { number } else { number + 128 });
        let read = read.min(numbers.len());
        Model::new(numbers.into_iter().map(|(id, parent)| (spread(id), spread(parent))).collect()).check(read);
    }
}

/// Long paths, so that the numbering answers and not the walk.
#[test]
fn ancestry_of_long_paths() {
    for cycle in [None, Some((0, 40)), Some((0, 700)), Some((100, 500))] {
        let mut state = 99u32;
        let mut parents: Vec<Option<usize>> = Vec::new();
        for at in 0..1200usize {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Mostly the entry before, now and then one further back.
            let back = if state >> 24 < 3 { (state >> 8) as usize % at.clamp(1, 60) } else { 0 };
            parents.push(at.checked_sub(1 + back));
        }
        if let Some((from, to)) = cycle {
            parents[from] = Some(to);
        }
        let texts: Vec<_> = parents
            .iter()
            .enumerate()
            .map(|(at, parent)| (format!("{at:08x}"), parent.map(|at| format!("{at:08x}"))))
            .collect();
        let tree = tree(texts.iter().map(|(id, parent)| (Some(id.as_str()), parent.as_deref())));
        let mut ancestry = Ancestry::new(&tree);
        let mut far = 0;
        for of in (0..1200usize).step_by(7).rev() {
            let mut up = vec![of];
            while let Some(parent) = parents[up[up.len() - 1]].filter(|parent| !up.contains(parent)) {
                up.push(parent);
            }
            far += usize::from(up.len() > 300);
            for ancestor in (0..1200usize).step_by(5).chain([of]) {
                let got = ancestry.is_ancestor(u32::try_from(ancestor).unwrap(), u32::try_from(of).unwrap());
                assert_eq!(got, up[1..].contains(&ancestor), "{ancestor} of {of}, cycle {cycle:?}");
            }
        }
        assert!(far > 20, "only {far} long paths");
    }
}
