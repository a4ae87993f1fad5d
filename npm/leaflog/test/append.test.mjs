import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { describe, test } from "node:test";
import { SessionManager } from "leaflog";
import { assistant, ID, lines, SESSION_ID, TIME, tempDir, user } from "./support.mjs";

/** A session that has started, and its lines after what started it. */
function started() {
	const dir = tempDir();
	const session = SessionManager.create(dir, dir);
	session.appendMessage(assistant("go"));
	const rest = () => lines(session.getSessionFile()).slice(2);
	return { session, rest };
}

describe("appending", () => {
	test("R29: nothing is written before the first assistant message, then everything at once", () => {
		const dir = tempDir();
		const session = SessionManager.create("/some/project", dir);
		const file = session.getSessionFile();
		session.appendMessage(user("hello"));
		session.appendThinkingLevelChange("high");
		assert.equal(fs.existsSync(file), false);
		session.appendMessage(assistant("hi"));
		const [header, ...entries] = lines(file);
		assert.deepEqual(Object.keys(header), ["type", "version", "id", "timestamp", "cwd"]);
		assert.equal(header.version, 3);
		assert.match(header.id, SESSION_ID);
		assert.match(header.timestamp, TIME);
		assert.equal(header.cwd, "/some/project");
		assert.equal(path.basename(file), `${header.timestamp.replace(/[:.]/g, "-")}_${header.id}.jsonl`);
		assert.deepEqual(
			entries.map((entry) => entry.type),
			["message", "thinking_level_change", "message"],
		);
		session.appendMessage(user("again"));
		assert.equal(lines(file).length, 5);
	});

	test("R18: every append is one entry, child of the leaf, and gives its id", () => {
		const { session, rest } = started();
		const first = session.appendMessage(user("one"));
		const second = session.appendMessage(user("two"));
		const [one, two] = rest();
		assert.match(first, ID);
		assert.equal(one.id, first);
		assert.equal(two.id, second);
		assert.equal(two.parentId, first);
		assert.match(two.timestamp, TIME);
		assert.equal(session.getLeafId(), second);
	});

	test("C: keys of every entry are written in the agent's order, absent ones not at all", () => {
		const { session, rest } = started();
		const kept = session.getLeafId();
		const base = ["type", "id", "parentId", "timestamp"];
		const cases = [
			[() => session.appendThinkingLevelChange("high"), [...base, "thinkingLevel"], { thinkingLevel: "high" }],
			[() => session.appendThinkingLevelChange(), [...base, "thinkingLevel"], { thinkingLevel: null }],
			[() => session.appendServiceTierChange("flex"), [...base, "serviceTier"], { serviceTier: "flex" }],
			[() => session.appendServiceTierChange(null), [...base, "serviceTier"], { serviceTier: null }],
			[() => session.appendModeChange("plan"), [...base, "mode"], { mode: "plan" }],
			[() => session.appendModeChange("plan", { file: "p" }), [...base, "mode", "data"], { data: { file: "p" } }],
			[
				() => session.appendContextChange("c", "t", "n"),
				[...base, "contextName", "tenant", "namespace"],
				{ contextName: "c", tenant: "t", namespace: "n" },
			],
			[() => session.appendModelChange("acme/large"), [...base, "model"], { model: "acme/large" }],
			[() => session.appendModelChange("acme/small", "smol"), [...base, "model", "role"], { role: "smol" }],
			[
				() => session.appendSessionInit({ task: "t", systemPrompt: "s", outputSchema: { a: 1 }, tools: ["x"] }),
				[...base, "task", "systemPrompt", "outputSchema", "tools"],
				{ task: "t", systemPrompt: "s", outputSchema: { a: 1 }, tools: ["x"] },
			],
			[
				() => session.appendCompaction("sum", undefined, kept, 1000),
				[...base, "summary", "firstKeptEntryId", "tokensBefore"],
				{ summary: "sum", firstKeptEntryId: kept, tokensBefore: 1000 },
			],
			[
				() => session.appendCompaction("sum", "s", kept, 1, { d: 1 }, true, { p: 1 }),
				[
					...base,
					"summary",
					"shortSummary",
					"firstKeptEntryId",
					"tokensBefore",
					"details",
					"fromExtension",
					"preserveData",
				],
				{ shortSummary: "s", details: { d: 1 }, fromExtension: true, preserveData: { p: 1 } },
			],
			[() => session.appendMCPToolSelection(["a"]), [...base, "selectedToolNames"], { selectedToolNames: ["a"] }],
			[() => session.appendTtsrInjection(["r"]), [...base, "injectedRules"], { injectedRules: ["r"] }],
			[
				() => session.appendLabelChange(kept, "mark"),
				[...base, "targetId", "label"],
				{ targetId: kept, label: "mark" },
			],
			[() => session.appendLabelChange(kept, undefined), [...base, "targetId"], { targetId: kept }],
			[
				() => session.branchWithSummary(kept, "left", { d: 1 }, false),
				[...base, "fromId", "summary", "details", "fromExtension"],
				{ fromId: kept, parentId: kept, summary: "left", details: { d: 1 }, fromExtension: false },
			],
			[
				() => session.branchWithSummary(null, "left"),
				[...base, "fromId", "summary"],
				{ fromId: "root", parentId: null },
			],
			[
				() => session.appendCustomEntry("ext", { s: [1] }),
				["type", "customType", "data", "id", "parentId", "timestamp"],
				{ customType: "ext", data: { s: [1] } },
			],
			[() => session.appendCustomEntry("ext"), ["type", "customType", "id", "parentId", "timestamp"], {}],
			[
				() => session.appendCustomMessageEntry("ext", "text", true),
				["type", "customType", "content", "display", "attribution", "id", "parentId", "timestamp"],
				{ customType: "ext", content: "text", display: true, attribution: "agent" },
			],
			[
				() => session.appendCustomMessageEntry("ext", [{ type: "text", text: "t" }], false, { d: 1 }, "user"),
				["type", "customType", "content", "display", "details", "attribution", "id", "parentId", "timestamp"],
				{ content: [{ type: "text", text: "t" }], display: false, details: { d: 1 }, attribution: "user" },
			],
		];
		const ids = cases.map(([append]) => append());
		const entries = rest();
		assert.equal(entries.length, cases.length);
		cases.forEach(([append, keys, fields], at) => {
			const entry = entries[at];
			assert.deepEqual(Object.keys(entry), keys, String(append));
			assert.equal(entry.id, ids[at]);
			for (const [key, value] of Object.entries(fields)) assert.deepEqual(entry[key], value, String(append));
			// What is handed out says the same as the line.
			assert.equal(JSON.stringify(session.getEntry(ids[at])), JSON.stringify(entry), String(append));
		});
		assert.deepEqual(
			entries.map((entry) => entry.type),
			[
				"thinking_level_change",
				"thinking_level_change",
				"service_tier_change",
				"service_tier_change",
				"mode_change",
				"mode_change",
				"context_change",
				"model_change",
				"model_change",
				"session_init",
				"compaction",
				"compaction",
				"mcp_tool_selection",
				"ttsr_injection",
				"label",
				"label",
				"branch_summary",
				"branch_summary",
				"custom",
				"custom",
				"custom_message",
				"custom_message",
			],
		);
	});

	test("R45: half a surrogate pair survives in memory and on disk", () => {
		const { session, rest } = started();
		const half = "a\ud83db";
		session.appendMessage(user(half));
		session.appendCompaction(half, undefined, "none", 1);
		session.appendCustomEntry("ext", { half });
		assert.deepEqual(
			session
				.getEntries()
				.slice(1)
				.map((entry) => entry.message?.content ?? entry.summary ?? entry.data.half),
			[half, half, half],
		);
		const [message, compaction, custom] = rest();
		assert.equal(message.message.content, half);
		assert.equal(compaction.summary, half);
		assert.equal(custom.data.half, half);
	});

	test("text outside ASCII comes back as it was", () => {
		const { session } = started();
		const text = "é ü ß Ā 日本語 🎉 \u0000\u007f\u0080\u2028\uffff";
		session.appendMessage(user(text));
		session.closeSync();
		return SessionManager.open(session.getSessionFile()).then((again) => {
			assert.equal(again.getEntries()[1].message.content, text);
			assert.equal(again.buildSessionContext().messages[1].content, text);
		});
	});

	test("R49: what JSON cannot say makes the append throw and changes nothing", () => {
		const { session, rest } = started();
		const before = session.getLeafId();
		const cyclic = {};
		cyclic.self = cyclic;
		assert.throws(() => session.appendMessage({ role: "user", content: 1n }), { code: "INVALID_ARGUMENT" });
		assert.throws(() => session.appendMessage({ role: "user", content: cyclic }), { code: "INVALID_ARGUMENT" });
		assert.throws(() => session.appendMessage(undefined), { code: "INVALID_ARGUMENT" });
		assert.throws(() => session.appendMessage("text"), { code: "INVALID_ARGUMENT" });
		assert.throws(() => session.appendCustomEntry("ext", { n: 1n }), { code: "INVALID_ARGUMENT" });
		const thrown = new Error("from toJSON");
		const throws = {
			role: "user",
			toJSON() {
				throw thrown;
			},
		};
		assert.throws(
			() => session.appendMessage(throws),
			(error) => error.code === "INVALID_ARGUMENT" && error.cause === thrown,
		);
		assert.equal(session.getLeafId(), before);
		assert.equal(session.getEntries().length, 1);
		assert.deepEqual(rest(), []);
	});

	test("C: a label needs a target that is there", () => {
		const { session } = started();
		assert.throws(() => session.appendLabelChange("nope", "x"), {
			name: "LeaflogError",
			code: "ENTRY_NOT_FOUND",
			message: `${session.getSessionFile()}: Entry nope not found`,
		});
		assert.equal(session.getEntries().length, 1);
	});

	test("R54: 5,000 appends stand in the file as they were made", () => {
		const { session, rest } = started();
		const ids = [];
		for (let at = 0; at < 5000; at++) ids.push(session.appendMessage(user(`message ${at}`)));
		const entries = rest();
		assert.deepEqual(
			entries.map((entry) => entry.id),
			ids,
		);
		assert.equal(entries[4999].message.content, "message 4999");
		assert.equal(new Set(ids).size, 5000);
	});
});
