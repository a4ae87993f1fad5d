//! The state along a path, where reading only some of its entries could go wrong. What the model
//! is sent is in `tests/golden.rs`.

use crate::{Leaf, ViewOptions};
use proptest::prelude::*;

/// What stands on a path, as far as models go.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A model change: role (none, `default`, `smol`, `slow`) and model.
    Change(u8, u8),
    /// An assistant message with provider and model.
    Assistant(u8),
    /// An assistant message without a provider.
    Nameless,
    User,
}

const ROLES: [&str; 4] = ["", "default", "smol", "slow"];

fn line(at: usize, step: Step) -> String {
    let parent = at.checked_sub(1).map_or_else(|| "null".to_owned(), |at| format!("\"{at:08x}\""));
    let rest = match step {
        Step::Change(0, model) => format!(r#""type":"model_change","model":"p/{model}""#),
        Step::Change(role, model) => {
            format!(r#""type":"model_change","model":"p/{model}","role":"{}""#, ROLES[usize::from(role)])
        }
        Step::Assistant(model) => {
            format!(r#""type":"message","message":{{"role":"assistant","provider":"p","model":"{model}"}}"#)
        }
        Step::Nameless => r#""type":"message","message":{"role":"assistant","provider":"","model":"x"}"#.to_owned(),
        Step::User => r#""type":"message","message":{"role":"user","provider":"p","model":"x"}"#.to_owned(),
    };
    format!("{{\"id\":\"{at:08x}\",\"parentId\":{parent},{rest}}}\n")
}

fn models(steps: &[Step]) -> Vec<(String, String)> {
    let lines: String = steps.iter().enumerate().map(|(at, &step)| line(at, step)).collect();
    let view =
        ViewOptions::new().read_bytes(format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{lines}")).unwrap();
    view.context(Leaf::Last).unwrap().models
}

/// R25 step by step: each setting replaces the one of its role, a new role goes last.
fn one_by_one(steps: &[Step]) -> Vec<(String, String)> {
    let mut models: Vec<(String, String)> = Vec::new();
    for step in steps {
        let (role, model) = match *step {
            Step::Change(role, model) => (ROLES[usize::from(role.max(1))], model),
            Step::Assistant(model) => ("default", model),
            Step::Nameless | Step::User => continue,
        };
        let model = format!("p/{model}");
        match models.iter_mut().find(|(known, _)| known == role) {
            Some(known) => known.1 = model,
            None => models.push((role.to_owned(), model)),
        }
    }
    models
}

// R25: the later of model change and assistant message; roles in the order they were first set.
#[test]
fn the_order_of_roles() {
    let all =
        |steps: &[Step]| models(steps).into_iter().map(|(role, model)| format!("{role}={model}")).collect::<Vec<_>>();
    assert_eq!(all(&[Step::Assistant(1), Step::Change(2, 2), Step::Change(1, 3)]), ["default=p/3", "smol=p/2"]);
    assert_eq!(all(&[Step::Assistant(1), Step::Change(2, 2), Step::Assistant(3)]), ["default=p/3", "smol=p/2"]);
    assert_eq!(all(&[Step::Change(2, 2), Step::Assistant(1), Step::Nameless]), ["smol=p/2", "default=p/1"]);
    assert_eq!(all(&[Step::Change(0, 1), Step::Assistant(2), Step::Change(0, 3)]), ["default=p/3"]);
    assert!(all(&[Step::User, Step::Nameless]).is_empty());
}

// Part C, load-time view: a payload that is dropped takes the references in it along; those beside
// it come back. `printf hello | sha256sum`, `printf hello | base64`
#[test]
fn what_is_dropped_is_not_resolved() {
    let blob = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(blob), "hello").unwrap();
    let image = format!(r#"{{"type":"image","data":"blob:sha256:{blob}"}}"#);
    let loaded = r#"{"type":"image","data":"aGVsbG8="}"#;
    let signed = r#"{"type":"thinking","thinkingSignature":"s"}"#;
    let thinking = r#"{"type":"thinking"}"#;
    let payload = format!(r#""providerPayload":{{"type":"openaiResponsesHistory","items":[{image}]}}"#);
    let entry = |message: &str| format!(r#"{{"type":"message","id":"a","message":{{"role":"assistant",{message}}}}}"#);
    for (stored, want) in [
        (
            format!(r#""content":[{signed},{image},{signed},{image}],{payload},"x":[{image}]"#),
            format!(r#""content":[{thinking},{loaded},{thinking},{loaded}],"x":[{loaded}]"#),
        ),
        (
            format!(r#"{payload},"content":[{image},{signed},{image}]"#),
            format!(r#""content":[{loaded},{thinking},{loaded}]"#),
        ),
    ] {
        let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{}\n", entry(&stored));
        let view = ViewOptions::new().blobs(dir.path()).read_bytes(text).unwrap();
        let text = view.entries().next().unwrap().loaded_text().unwrap();
        assert_eq!(text.json().to_string(), entry(&want));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn models_of_any_path(numbers in prop::collection::vec((0u8..7, 0u8..5), 1..12)) {
        let steps: Vec<Step> = numbers
            .into_iter()
            .map(|(kind, model)| match kind {
                0..=3 => Step::Change(kind, model),
                4 => Step::Assistant(model),
                5 => Step::Nameless,
                _ => Step::User,
            })
            .collect();
        prop_assert_eq!(models(&steps), one_by_one(&steps), "{:?}", steps);
    }
}
