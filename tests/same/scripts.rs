//! Scripts that are made: random ones, and one that goes over all fixtures.

use fastrand::Rng;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

const PROJECTS: [&str; 4] =
    ["/home/ada/projects/tidewatch", "/home/ada/projects/pier", "/srv/häfen/ebb%3Aflow", "/home/ada"];

/// What other programs leave at the end of a file.
const TAILS: [&str; 5] = [
    "{\"type\":\"mess",
    "%0A",
    "{\"type\":\"custom\",\"customType\":\"other\",\"id\":\"feed0001\",\"parentId\":null,\"timestamp\":\"2026-02-16T09:00:00.000Z\"}%0A",
    "not json%0A%00%00%00%0A",
    "  {\"type\": \"label\", \"id\": \"feed0002\", \"parentId\": \"feed0001\", \"targetId\": \"feed0001\", \"label\": \"1e2\"}",
];

const WORDS: [&str; 16] = [
    "tide",
    "",
    "~~",
    "high water at 12:04",
    "Ebbe und Flut im Häfen",
    "満潮",
    "🌊🌊",
    "a \"quoted\" back\\slash /slash",
    "line%0Abreak%0D%0Atab%09",
    "%01%1B[31m%7F%C2%85",
    "%E2%80%A8%E2%80%A9",
    "  spaces  around  ",
    "zero%00width",
    "é%EF%BB%BF",
    "100%25",
    "<script>&amp;</script>",
];

/// As JSON.stringify writes them, half surrogate pairs too.
const STRINGS: [&str; 16] = [
    "tide",
    "",
    "満潮 🌊",
    r#"a \"quoted\" back\\slash /slash"#,
    r"line\nbreak\r\n\ttab\b\f",
    r"\u0001\u001b[31m\u0000",
    r"\ud83d",
    r"\udf0a tail",
    r"high \ud83d\ud83d low",
    "\u{7f}\u{85}\u{2028}\u{2029}\u{feff}",
    "blob:sha256:0000000000000000000000000000000000000000000000000000000000000000",
    "blob:sha256:../../etc",
    "data:image/png;base64,iVBORw0KGgo=",
    "data:image/svg+xml,<svg/>",
    "{not json}",
    "https://example.org/pier.png",
];

const NUMBERS: [&str; 10] =
    ["0", "-1", "42", "0.1", "1e+21", "1.5e-7", "9007199254740991", "-0.000001", "5e-324", "1.7976931348623157e+308"];

const KEYS: [&str; 22] = [
    "a",
    "b",
    "",
    "ключ",
    "content",
    "data",
    "type",
    "mimeType",
    "image_url",
    "url",
    "lineCount",
    "partialJson",
    "jsonlEvents",
    "thinkingSignature",
    "textSignature",
    "message",
    "id",
    "parentId",
    "timestamp",
    "__proto__",
    r"\ud83d",
    r#"with \"quotes\""#,
];

/// Every file of `tests/fixtures`: opened, which migrates it, appended to, branched, renamed, copied, rewritten.
pub fn files(migration: &str) -> String {
    let mut lines = vec![format!("options\t{migration}\tabsolute\tflush")];
    for (at, name) in fixtures().into_iter().enumerate() {
        let name = format!("in/{name}");
        if migration == "deferred" && at % 2 == 1 {
            // Only opened: it stays as it is.
            lines.extend([format!("open\t{name}"), "close".to_owned()]);
            continue;
        }
        let copied = format!("fork-from\t{name}\t{}", PROJECTS[0]);
        let opened = format!("open\t{name}");
        let asked = "message\t{\"role\":\"user\",\"content\":\"Häfen\"}";
        let answered = "message\t{\"role\":\"assistant\",\"content\":[]}";
        lines.extend(
            [&copied, asked, &opened, "flush", "close", answered, "custom\tafter\t{\"text\":\"満潮\"}"]
                .map(String::from),
        );
        lines.extend(["label\t@1\there", "branched\t@3", asked, &opened, "name\tuser\tRenamed"].map(String::from));
        lines.extend([&format!("set-file\t{name}"), "sanitize", "rewrite", "close", asked].map(String::from));
    }
    lines.join("\n") + "\n"
}

/// The session files there are, and two paths where there is none.
fn fixtures() -> Vec<String> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".jsonl"))
        .collect();
    names.sort();
    names.extend(["new.jsonl", "sub/new.jsonl", "README.md"].map(String::from));
    names
}

pub fn random(seed: u64) -> String {
    let rng = Rng::with_seed(seed);
    let mut script = Script { rng, lines: vec![format!("# random script {seed}")], changes: false };
    script.changes = script.rng.bool();
    if script.rng.bool() {
        let options = script.options();
        script.line(options);
    }
    let first = script.maker();
    script.line(first);
    for _ in 0..script.rng.usize(60..300) {
        let line = script.operation();
        script.line(line);
    }
    script.lines.join("\n") + "\n"
}

struct Script {
    rng: Rng,
    lines: Vec<String>,
    /// There are changes in place, and neither a second manager nor a way back: objects that were changed stay changed
    /// in JavaScript, whatever another manager wrote or this one held before.
    changes: bool,
}

impl Script {
    fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.rng.usize(..of.len())]
    }

    fn rarely(&mut self) -> bool {
        self.rng.u8(..80) == 0
    }

    fn options(&mut self) -> String {
        let migration = self.one(&["immediate", "deferred"]);
        let naming = self.one(&["absolute", "home-relative"]);
        format!("options\t{migration}\t{naming}\t{}", self.one(&["flush", "every-append"]))
    }

    fn maker(&mut self) -> String {
        let project = self.one(&PROJECTS);
        // Not `continue`: which of two files was written last is a matter of the machine's clock, which is not injected.
        match self.rng.u8(..12) {
            0..5 => format!("create\t{project}"),
            5 => format!("memory\t{project}"),
            6..8 => format!("fork-from\t{}\t{project}", self.path()),
            _ => format!("open\t{}", self.path()),
        }
    }

    fn path(&mut self) -> String {
        if self.rng.bool() {
            return format!("={}", self.rng.u8(..));
        }
        let names = fixtures();
        format!("in/{}", names[self.rng.usize(..names.len())])
    }

    fn at(&mut self) -> String {
        format!("@{}", self.rng.u8(..))
    }

    fn text(&mut self) -> String {
        if self.rarely() {
            return self.one(&["{{500001:x}}", "{{499952:x}}🌊{{60:y}}", "{{167000:満}}{{400000:z}}"]).to_owned();
        }
        self.one(&WORDS).to_owned()
    }

    fn optional(&mut self) -> String {
        if self.rng.bool() { "~".to_owned() } else { self.text() }
    }

    fn list(&mut self) -> String {
        let items: Vec<_> = (0..self.rng.u8(..4)).map(|_| self.one(&WORDS).replace(',', "%2C")).collect();
        items.into_iter().filter(|item| !item.is_empty()).collect::<Vec<_>>().join(",")
    }

    fn choice(&mut self) -> &'static str {
        self.one(&["~", "yes", "no"])
    }

    fn operation(&mut self) -> String {
        match self.rng.u8(..60) {
            0 => self.maker(),
            1 => self.options(),
            2..5 if !self.changes => format!("use\t{}", self.rng.u8(..2)),
            2..7 if self.changes => format!("change\t{}\t{}", self.at(), self.message()),
            7 => format!("set-file\t{}", self.path()),
            8 => format!("new\t{}", self.optional()),
            9 => "fork".to_owned(),
            10..12 => format!("branched\t{}", self.at()),
            12 => format!("move\t{}", self.one(&PROJECTS)),
            13 => "flush".to_owned(),
            14 => "close".to_owned(),
            15 => "ensure".to_owned(),
            16 => "rewrite".to_owned(),
            17 => format!("name\t{}\t{}", self.one(&["auto", "user"]), self.text()),
            18 if !self.changes => "capture".to_owned(),
            19 if !self.changes => "restore".to_owned(),
            20 => format!("thinking\t{}", self.optional()),
            21 => format!("tier\t{}", self.optional()),
            22 => format!("mode\t{}\t{}", self.text(), self.optional_json()),
            23 => format!("context\t{}\t{}\t{}", self.text(), self.text(), self.text()),
            24 => format!("model\t{}\t{}", self.text(), self.optional()),
            25 => format!("init\t{}\t{}\t{}\t{}", self.text(), self.text(), self.list(), self.optional_json()),
            26 => self.compaction(),
            27..29 => format!("custom\t{}\t{}", self.text(), self.optional_json()),
            29..31 => self.custom_message(),
            31 => format!("mcp\t{}", self.list()),
            32 => format!("ttsr\t{}", self.list()),
            33..36 => format!("label\t{}\t{}", self.at(), self.optional()),
            36..38 => format!("branch\t{}", self.at()),
            38 => "reset".to_owned(),
            39..41 => self.branch_summary(),
            41 => format!("artifact\t{}\t{}", self.one(&["bash", "read", "a/b"]), self.text()),
            42 => format!("allocate\t{}", self.one(&["bash", "python"])),
            43 => format!("blob\t{}", self.text()),
            44 => "sanitize".to_owned(),
            45 => format!("tail\t={}\t{}", self.rng.u8(..), self.one(&TAILS)),
            46 => format!("remove\t={}", self.rng.u8(..)),
            _ => format!("message\t{}", self.message()),
        }
    }

    fn compaction(&mut self) -> String {
        let (summary, short, first) = (self.text(), self.optional(), self.at());
        let (tokens, by) = (self.rng.u32(..), self.choice());
        let (details, preserve) = (self.optional_json(), self.optional_json());
        format!("compaction\t{summary}\t{short}\t{first}\t{tokens}\t{by}\t{details}\t{preserve}")
    }

    fn custom_message(&mut self) -> String {
        let (kind, display, who) = (self.text(), self.one(&["yes", "no"]), self.optional());
        let (details, content) = (self.optional_json(), self.content());
        format!("custom-message\t{kind}\t{display}\t{who}\t{details}\t{content}")
    }

    fn branch_summary(&mut self) -> String {
        let from = if self.rng.u8(..4) == 0 { "~".to_owned() } else { self.at() };
        format!("branch-summary\t{from}\t{}\t{}\t{}", self.text(), self.choice(), self.optional_json())
    }

    fn optional_json(&mut self) -> String {
        if self.rng.bool() { "~".to_owned() } else { self.value(3) }
    }

    fn string(&mut self) -> String {
        let text = if self.rarely() {
            self.one(&["{{500001:x}}", r"{{499952:x}}🌊{{60:y}}", r"{{250000:\ud83d}}{{250001:é}}", "{{125001:QUJD}}"])
        } else {
            self.one(&STRINGS)
        };
        format!("\"{text}\"")
    }

    fn value(&mut self, depth: u8) -> String {
        match self.rng.u8(..if depth == 0 { 5 } else { 8 }) {
            0 => "null".to_owned(),
            1 => self.one(&["true", "false"]).to_owned(),
            2 => self.one(&NUMBERS).to_owned(),
            3..5 => self.string(),
            5 => {
                let items: Vec<_> = (0..self.rng.u8(..4)).map(|_| self.value(depth - 1)).collect();
                format!("[{}]", items.join(","))
            }
            6 => self.image(),
            _ => {
                let mut seen = HashSet::new();
                let keys: Vec<_> =
                    (0..self.rng.u8(..5)).map(|_| self.one(&KEYS)).filter(|key| seen.insert(*key)).collect();
                let members: Vec<_> =
                    keys.into_iter().map(|key| format!("\"{key}\":{}", self.value(depth - 1))).collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }

    fn image(&mut self) -> String {
        let data = if self.rarely() {
            // Over the limit: one that decodes and encodes to the same, and one that does not.
            self.one(&["{{125001:QUJD}}", "{{125001:QUJD}}QQ=="])
        } else {
            self.one(&[
                "{{255:QUJD}}",
                "{{256:QUJD}}",
                "{{256:QUJE}}QQ==",
                "{{256:QUJE}}QR==",
                "{{300:QUJD}}Q",
                "{{300:Q\u{e4}}}",
            ])
        };
        match self.rng.u8(..4) {
            0 => format!(r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}"}}}}"#),
            1 => format!(r#"{{"mimeType":"image/webp","data":"{data}"}}"#),
            _ => format!(r#"{{"type":"image","data":"{data}","mimeType":"image/png"}}"#),
        }
    }

    /// A string or an array of blocks.
    fn content(&mut self) -> String {
        if self.rng.bool() {
            return self.string();
        }
        let block = |script: &mut Self| match script.rng.u8(..8) {
            0..2 => script.image(),
            2 => format!(
                r#"{{"type":"thinking","thinking":{},"thinkingSignature":{}}}"#,
                script.string(),
                script.string()
            ),
            3 => format!(
                r#"{{"type":"toolCall","id":"call_1","name":"read","arguments":{},"partialJson":{}}}"#,
                script.value(2),
                script.string()
            ),
            4 => script.value(2),
            _ => format!(r#"{{"type":"text","text":{}}}"#, script.string()),
        };
        let blocks: Vec<_> = (0..self.rng.u8(..4)).map(|_| block(self)).collect();
        format!("[{}]", blocks.join(","))
    }

    fn message(&mut self) -> String {
        let content = self.content();
        match self.rng.u8(..12) {
            0..5 => {
                let payload = match self.rng.u8(..4) {
                    0 => r#","providerPayload":{"type":"openaiResponsesHistory","items":[1,"two"]}"#,
                    1 => r#","providerPayload":{"type":"other"}"#,
                    _ => "",
                };
                let usage = r#"{"input":10,"output":5,"cacheRead":2,"cacheWrite":1,"cost":{"total":0.25}}"#;
                format!(
                    r#"{{"role":"assistant","content":{content},"provider":"acme","model":"large","usage":{usage}{payload},"stopReason":"stop"}}"#
                )
            }
            5..8 => format!(r#"{{"role":"user","content":{content},"timestamp":1771236000000}}"#),
            8..10 => {
                let count = self.one(&["1", "2", "7.5", "\"2\""]);
                format!(
                    r#"{{"role":"toolResult","toolCallId":"call_1","toolName":"task","content":{content},"details":{},"lineCount":{count},"isError":false}}"#,
                    self.value(3)
                )
            }
            10 => format!(r#"{{"role":"hookMessage","customType":"hook","content":{content},"display":true}}"#),
            _ => {
                let value = self.value(2);
                format!(r#"{{"role":"other","extra":{value},"content":{content}}}"#)
            }
        }
    }
}
