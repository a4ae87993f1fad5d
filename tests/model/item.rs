//! Entries of the model: what their texts must be, byte for byte, in each place.

use base64::Engine as _;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::rc::Rc;

/// In which form a text is wanted.
#[derive(Clone, Copy)]
pub struct Form {
    /// With what is never written (R33, R34).
    pub whole: bool,
    /// With references in place of images (R36).
    pub references: bool,
    /// With the provider's own history (the load-time view of part C).
    pub payload: bool,
}

/// Everything, as the manager was given it.
pub const FULL: Form = Form { whole: true, references: false, payload: true };

/// What stands in an entry before its id and after its timestamp.
pub type Body = Rc<dyn Fn(Form) -> (String, String)>;

/// An entry.
#[derive(Clone)]
pub struct Item {
    pub id: String,
    pub parent: Option<String>,
    pub time: String,
    pub kind: String,
    body: Body,
    /// Its line in a file of an older version.
    old: Option<String>,
    /// The line it was migrated to; it holds nothing that is shown in another form.
    fixed: Option<String>,
}

impl std::fmt::Debug for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.id, self.kind)
    }
}

pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

impl Item {
    pub fn new(kind: &str, id: &str, parent: Option<&str>, time: &str, body: Body) -> Self {
        let parent = parent.map(str::to_owned);
        Self { id: id.to_owned(), parent, time: time.to_owned(), kind: kind.to_owned(), body, old: None, fixed: None }
    }

    /// An entry of an older file, and what it was migrated to.
    pub fn migrated(mut self, old: String, new: String) -> Self {
        (self.old, self.fixed) = (Some(old), Some(new));
        self
    }

    /// Its line in the file of an older version that it was read from.
    pub fn old_line(&self) -> String {
        self.old.clone().unwrap_or_else(|| self.line())
    }

    pub fn text(&self, form: Form) -> String {
        if let Some(fixed) = &self.fixed {
            return fixed.clone();
        }
        let (before, after) = (self.body)(form);
        let parent = self.parent.as_deref().map_or("null".to_owned(), quoted);
        let (id, time) = (quoted(&self.id), quoted(&self.time));
        format!(r#"{{"type":"{}"{before},"id":{id},"parentId":{parent},"timestamp":{time}{after}}}"#, self.kind)
    }

    /// The line on disk.
    pub fn line(&self) -> String {
        self.text(Form { whole: false, references: true, payload: true })
    }

    /// What a manager shows of it.
    pub fn shown(&self, whole: bool, own: bool) -> String {
        self.text(Form { whole, references: false, payload: own })
    }

    pub fn with_parent(&self, parent: Option<String>) -> Self {
        let member =
            |parent: &Option<String>| format!("\"parentId\":{}", parent.as_deref().map_or("null".into(), quoted));
        let fixed = self.fixed.as_ref().map(|text| text.replace(&member(&self.parent), &member(&parent)));
        Self { parent, fixed, ..self.clone() }
    }

    /// A compaction that keeps from `new` on when it kept from `old` on.
    pub fn with_first_kept(&self, old: &str, new: &str) -> Self {
        let member = |id: &str| format!("\"firstKeptEntryId\":{}", quoted(id));
        let (old, new) = (member(old), member(new));
        let fixed = self.fixed.as_ref().map(|text| text.replace(&old, &new));
        let body = Rc::clone(&self.body);
        let body = Rc::new(move |form| {
            let (before, after) = body(form);
            (before, after.replace(&old, &new))
        });
        Self { body, fixed, ..self.clone() }
    }

    /// Its line has less than was said.
    pub fn is_reduced(&self) -> bool {
        self.text(Form { whole: true, references: true, payload: true }) != self.line()
    }

    /// The same entry of another time.
    pub fn with_time(&self, time: &str) -> Self {
        let fixed = self.fixed.as_ref().map(|text| text.replacen(&quoted(&self.time), &quoted(time), 1));
        Self { time: time.to_owned(), fixed, ..self.clone() }
    }

    /// A message with another key where [`Message`] has one that nothing looks at.
    pub fn with_other_key(&self) -> Self {
        let body = Rc::clone(&self.body);
        let body: Body = Rc::new(move |form| {
            let (before, mut after) = body(form);
            let key = after.rfind(",\"x\":").map(|at| (at, "y"));
            if let Some((at, new)) = key.or_else(|| after.rfind(",\"y\":").map(|at| (at, "x"))) {
                after.replace_range(at + 2..at + 3, new);
            }
            (before, after)
        });
        Self { body, ..self.clone() }
    }

    /// A message with a blank in its line, where a formatter may have a newline.
    pub fn spaced(&self) -> Self {
        let body = Rc::clone(&self.body);
        self.with_body(Rc::new(move |form| {
            let (before, after) = body(form);
            (before, after.replacen(",\"message\":{", ",\"message\": {", 1))
        }))
    }

    pub fn with_body(&self, body: Body) -> Self {
        Self { body, fixed: None, ..self.clone() }
    }
}

/// A body that is the same in all forms, after the timestamp.
pub fn plain(after: String) -> Body {
    Rc::new(move |_| (String::new(), after.clone()))
}

/// A message that is made of parts.
#[derive(Clone, Debug, Default)]
pub struct Message {
    pub role: u8,
    pub text: u8,
    pub extra: u8,
    /// An image of this many bytes.
    pub image: Option<u16>,
    pub partial: bool,
    pub long: bool,
    pub payload: bool,
    pub usage: Option<u8>,
    pub model: Option<u8>,
}

/// Texts that are easily damaged, as JSON.
pub const RAW: &[&str] = &[
    "1",
    r#""plain""#,
    "null",
    r#""\ud83d""#,
    "1e400",
    "-0",
    "123456789012345678901234567890.5",
    r#"{"a":1,"a":2}"#,
    "[1,\n 2]",
    "\"\u{2028} \u{e9} \u{1f600}\"",
    r#""\u0000\u001f\/\b\f\"\\""#,
    r#"{"":{"__proto__":[]}}"#,
    r#""blob:sha256:0123""#,
    r#"{"type":"session","id":"x"}"#,
    r#""\"}\n{\"type\":\"message\"""#,
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
    r#"{"type":"image","data":"aGk="}"#,
    r#""\u0070artialJson""#,
    "true",
    r#""                                                                  \\""#,
];

const ROLES: &[&str] = &["user", "assistant", "toolResult", "custom", "unknown", "assistant"];

impl Message {
    /// The text given to the manager; stored, a newline between tokens is a blank.
    pub fn argument(&self) -> String {
        self.build(Form { whole: true, references: false, payload: true })
    }

    pub fn body(&self) -> Body {
        let message = self.clone();
        Rc::new(move |form| (String::new(), format!(",\"message\":{}", message.build(form).replace('\n', " "))))
    }

    fn build(&self, form: Form) -> String {
        let role = ROLES[usize::from(self.role) % ROLES.len()];
        let raw = |at: u8| RAW[usize::from(at) % RAW.len()];
        let mut out = format!("{{\"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":{}}}", raw(self.text));
        if let Some(size) = self.image {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            let text = base64::engine::general_purpose::STANDARD.encode(&bytes);
            let data = if form.references && text.len() >= 1024 {
                let hash = Sha256::digest(&bytes).iter().fold(String::new(), |mut hex, byte| {
                    write!(hex, "{byte:02x}").unwrap();
                    hex
                });
                format!("blob:sha256:{hash}")
            } else {
                text
            };
            write!(out, ",{{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"{data}\"}}").unwrap();
        }
        if self.partial {
            let partial = if form.whole { ",\"partialJson\":\"{\\\"a\"" } else { "" };
            write!(out, ",{{\"type\":\"toolCall\",\"name\":\"t\"{partial},\"arguments\":null}}").unwrap();
        }
        if self.payload {
            let signature = if form.payload || role != "assistant" { ",\"thinkingSignature\":\"s\"" } else { "" };
            write!(out, ",{{\"type\":\"thinking\"{signature},\"thinking\":\"\"}}").unwrap();
        }
        out.push(']');
        if self.long {
            // The last unit that would be kept is the first half of a pair.
            let (head, tail) = ("x".repeat(499_952), "\u{1f600}".repeat(30));
            let notice = "\\n\\n[Session persistence truncated large content]";
            let text = if form.whole { format!("{head}{tail}") } else { format!("{head}{notice}") };
            write!(out, ",\"long\":\"{text}\"").unwrap();
        }
        if let Some(model) = self.model {
            write!(out, ",\"provider\":\"p{}\",\"model\":\"m{model}\"", model % 2).unwrap();
        }
        if let Some(usage) = self.usage {
            let numbers = format!("{{\"input\":{usage},\"output\":1.5,\"cost\":{{\"total\":0.25}}}}");
            match role {
                "toolResult" => write!(out, ",\"toolName\":\"task\",\"details\":{{\"usage\":{numbers}}}").unwrap(),
                _ => write!(out, ",\"usage\":{numbers}").unwrap(),
            }
        }
        if self.payload && (form.payload || role != "assistant") {
            out.push_str(",\"providerPayload\":{\"type\":\"openaiResponsesHistory\",\"items\":[]}");
        }
        write!(out, ",\"x\":{}}}", raw(self.extra)).unwrap();
        out
    }
}
