import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { describe, test } from "node:test";
import { SessionManager } from "leaflog";
import { assistant, lines, session as sessionOf, tempDir, user, write } from "./support.mjs";

function chain(count) {
	return sessionOf(
		Array.from({ length: count }, (_, at) => [
			"message",
			{ message: at % 2 === 0 ? user(`u${at}`) : assistant(`a${at}`) },
		]),
	);
}

async function opened(values) {
	const file = write(path.join(tempDir(), "s.jsonl"), values);
	return { file, session: await SessionManager.open(file) };
}

describe("objects", () => {
	test("C: an entry handed out is the same object each time", async () => {
		const { session } = await opened(chain(4));
		const entries = session.getEntries();
		assert.notEqual(session.getEntries(), entries);
		assert.deepEqual(session.getEntries(), entries);
		for (const [at, entry] of entries.entries()) {
			assert.equal(session.getEntries()[at], entry);
			assert.equal(session.getEntry(entry.id), entry);
			assert.equal(session.getBranch()[at], entry);
		}
		assert.equal(session.getLeafEntry(), entries[3]);
		assert.equal(session.getChildren("e1")[0], entries[1]);
		assert.equal(session.getTree()[0].children[0].entry, entries[1]);
		assert.equal(session.getEntry("none"), undefined);
	});

	test("C: an entry found first by its id is the one that lists and branches have", async () => {
		const { session } = await opened(chain(5));
		const third = session.getEntry("e3");
		assert.equal(session.getEntries()[2], third);
		assert.equal(session.getBranch("e4")[2], third);
	});

	test("C: appendMessage keeps its argument, before and after others were read", () => {
		const dir = tempDir();
		const session = SessionManager.create(dir, dir);
		const [first, second, third] = [user("1"), assistant("2"), user("3")];
		const id = session.appendMessage(first);
		assert.equal(session.getEntry(id).message, first);
		session.appendMessage(second);
		session.appendMessage(third);
		const messages = session.getEntries().map((entry) => entry.message);
		[first, second, third].forEach((message, at) => {
			assert.equal(messages[at], message);
		});
		assert.equal(session.buildSessionContext().messages[1], second);
	});

	test("C: other objects given to an append are the entry's own too", () => {
		const session = SessionManager.inMemory("/x");
		const [data, details, content] = [{ a: 1 }, { b: 1 }, [{ type: "text", text: "t" }]];
		assert.equal(session.getEntry(session.appendCustomEntry("x", data)).data, data);
		const message = session.getEntry(session.appendCustomMessageEntry("x", content, true, details));
		assert.equal(message.content, content);
		assert.equal(message.details, details);
		assert.equal(session.getEntry(session.appendModeChange("plan", data)).data, data);
		assert.equal(session.buildSessionContext().messages[0].content, content);
	});

	test("C: messages of the context are the very objects of the entries, in either order", async () => {
		const first = await opened(chain(6));
		const entries = first.session.getEntries();
		first.session.buildSessionContext().messages.forEach((message, at) => {
			assert.equal(message, entries[at].message);
		});
		const second = await opened(chain(6));
		const { messages } = second.session.buildSessionContext();
		second.session.getEntries().forEach((entry, at) => {
			assert.equal(entry.message, messages[at]);
		});
		second.session.buildSessionContext().messages.forEach((message, at) => {
			assert.equal(message, messages[at]);
		});
	});

	test("an entry nobody touched passes for a plain object", async () => {
		const values = chain(40);
		const fresh = async () => (await opened(values)).session.getEntries()[20];
		const wanted = values[21];
		assert.equal(JSON.stringify(await fresh()), JSON.stringify(wanted));
		assert.deepEqual({ ...(await fresh()) }, wanted);
		assert.deepEqual(structuredClone(await fresh()), wanted);
		assert.deepEqual(await fresh(), wanted);
		assert.deepEqual(Object.entries(await fresh()), Object.entries(wanted));
		assert.deepEqual(Object.keys(await fresh()), ["type", "id", "parentId", "timestamp", "message"]);
		assert.deepEqual(Object.assign({}, await fresh()), wanted);
		assert.equal("message" in (await fresh()), true);
		const heir = Object.create(await fresh());
		assert.deepEqual(heir.message, wanted.message);
		const touched = await fresh();
		const { message } = touched;
		assert.equal(touched.message, message);
		assert.deepEqual(Object.getOwnPropertyDescriptor(touched, "message"), {
			value: message,
			writable: true,
			enumerable: true,
			configurable: true,
		});
		const deleted = await fresh();
		delete deleted.message;
		assert.deepEqual(Object.keys(deleted), ["type", "id", "parentId", "timestamp"]);
		const assigned = await fresh();
		assigned.message = user("other");
		assert.equal(assigned.message.content, "other");
	});

	test("R45: entries with other keys, orders and spellings come as they stand", async () => {
		const values = chain(3);
		const odd = [
			`{"id":"o1","type":"message","parentId":"e3","timestamp":"2026-02-16T10:21:00.000Z","message":{"role":"user","content":"x"}}`,
			`{"type":"message","id":"o2","parentId":"o1","timestamp":"2026-02-16T10:21:00.000Z","message":{"role":"user","content":"x"},"extra":1}`,
			`{"type":"message","id":"o3","parentId":"o2","timestamp":"2026-02-16 10:21","message":{"role":"user","content":"x"}}`,
			`{"type":"message","id":"o\\u0034","parentId":"o3","timestamp":"2026-02-16T10:21:00.000Z","message":null}`,
			`{ "type" : "message", "id":"o5","parentId":"o4","timestamp":"2026-02-16T10:21:00.000Z","message" : {"role":"user"} }`,
			`{"type":"future","id":"o6","parentId":"o5","timestamp":"2026-02-16T10:21:00.000Z","n":1e2}`,
			`{"type":"message","id":"o7","parentId":"","timestamp":"2026-02-16T10:21:00.000Z","message":{"role":"user"}}`,
		];
		const { session } = await opened([...values, ...odd]);
		const entries = session.getEntries();
		odd.forEach((line, at) => {
			assert.equal(JSON.stringify(entries[3 + at]), JSON.stringify(JSON.parse(line)));
		});
		assert.equal(session.getEntry("o4").message, null);
	});

	test("R22, R49: lines of one id are entries of their own; the last one counts", async () => {
		const values = chain(3);
		const again = { ...values[2], message: user("again") };
		const { session } = await opened([...values, again]);
		const entries = session.getEntries();
		assert.equal(entries.length, 4);
		assert.equal(entries[1].message.role, "assistant");
		assert.equal(entries[3].message.content, "again");
		assert.equal(session.getEntry("e2"), entries[3]);
		assert.equal(session.getBranch("e3")[1], entries[3]);
		assert.equal(session.buildSessionContext().messages.length, 2);
	});
});

describe("changes in place", () => {
	test("R45, R49: of the lines of one id a copy has the last, and no rewrite puts an earlier one there", async () => {
		const values = chain(3);
		const second = { ...values[3], message: user("the last line of e3") };
		const texts = (session) =>
			lines(session.getSessionFile())
				.filter((line) => line.id === "e3")
				.map((line) => line.message.content);
		// All lines are objects here; only the first line of the id is.
		for (const late of [false, true]) {
			for (const copy of ["createBranchedSession", "fork"]) {
				const { file, session } = await opened(late ? values : [...values, second]);
				for (const entry of session.getEntries()) assert.ok(entry.message.content);
				if (late) {
					fs.appendFileSync(file, `${JSON.stringify(second)}\n`);
					session.appendLabelChange("e1", "takes in what another program wrote");
				}
				await session[copy]("e3");
				await session.rewriteEntries();
				const whole = copy === "fork" ? ["u2", "the last line of e3"] : ["the last line of e3"];
				assert.deepEqual(texts(session), whole, `${copy} ${late}`);
				assert.equal(session.getEntry("e3").message.content, "the last line of e3");
			}
		}
	});

	test("R49, R53d: of the lines of one id the last is the last when another process wrote the file anew", async () => {
		const values = chain(3);
		const { file, session } = await opened([...values, { ...values[3], message: user("the last line of e3") }]);
		for (const entry of session.getEntries()) assert.ok(entry.message.content);
		const other = await SessionManager.open(file);
		await other.rewriteEntries();
		session.appendLabelChange("e1", "takes in the other file");
		await session.rewriteEntries();
		assert.deepEqual(
			lines(file)
				.filter((line) => line.id === "e3")
				.map((line) => line.message.content),
			["u2", "the last line of e3"],
		);
	});

	test("C: rewriteEntries writes what was changed, and copies every other line", async () => {
		const values = chain(5).map((value) => JSON.stringify(value));
		values[2] = values[2].replace('"timestamp":1', '"timestamp":1e0');
		values[3] = values[3].replace('"u2"', '"\\u0075\\u0032"');
		const { file, session } = await opened(values);
		const entries = session.getEntries();
		for (const entry of entries) assert.ok(entry.message.role);
		entries[3].message.content = [{ type: "text", text: "pruned" }];
		entries[3].prunedAt = 5;
		await session.rewriteEntries();
		const after = fs.readFileSync(file, "utf8").split("\n");
		values.forEach((line, at) => {
			if (at !== 4) assert.equal(after[at], line);
		});
		assert.deepEqual(JSON.parse(after[4]), {
			...JSON.parse(values[4]),
			message: { ...assistant("a3"), content: [{ type: "text", text: "pruned" }] },
			prunedAt: 5,
		});
		assert.equal(session.getEntries()[3], entries[3]);
		// Again: nothing has changed since.
		await session.rewriteEntries();
		assert.deepEqual(fs.readFileSync(file, "utf8").split("\n"), after);
	});

	test("C: a change of what only a context handed out is written too", async () => {
		const { file, session } = await opened(chain(4));
		session.buildSessionContext().messages[1].content[0].intent = "look";
		await session.rewriteEntries();
		assert.equal(lines(file)[2].message.content[0].intent, "look");
		session.getEntries();
		session.buildSessionContext().messages[3].content[0].intent = "later";
		await session.rewriteEntries();
		assert.equal(lines(file)[4].message.content[0].intent, "later");
	});

	test("C: a change of an entry whose message nobody touched is written", async () => {
		const { file, session } = await opened(chain(4));
		session.getEntries()[1].note = "n";
		await session.rewriteEntries();
		assert.equal(lines(file)[2].note, "n");
		assert.deepEqual(lines(file)[2].message, assistant("a1"));
	});

	test("C: a change of an appended message is written with the next full rewrite, not before", async () => {
		const dir = tempDir();
		const session = SessionManager.create(dir, dir);
		const early = user("early");
		session.appendMessage(early);
		early.content = "changed before the start";
		const reply = assistant("hi");
		session.appendMessage(reply);
		const file = session.getSessionFile();
		assert.equal(lines(file)[1].message.content, "changed before the start");
		reply.content[0].intent = "look";
		session.appendMessage(user("next"));
		assert.equal(lines(file)[2].message.content[0].intent, undefined);
		await session.setSessionName("name");
		assert.equal(lines(file)[2].message.content[0].intent, "look");
	});

	test("C: every full rewrite takes changes along", async () => {
		for (const rewrite of [
			(session) => session.rewriteEntries(),
			(session) => session.setSessionName("n", "user"),
			(session) => session.fork(),
			(session) => session.moveTo(tempDir()),
			(session) => session.createBranchedSession("e4"),
		]) {
			const { session } = await opened(chain(4));
			const message = session.getEntries()[1].message;
			message.content[0].intent = "look";
			await rewrite(session);
			const file = session.getSessionFile();
			assert.equal(lines(file)[2].message.content[0].intent, "look", String(rewrite));
			// And the objects are still those that were handed out.
			assert.equal(session.getEntries()[1].message, message, String(rewrite));
		}
	});

	test("what JSON cannot say makes a rewrite throw, and the file stays", async () => {
		const { file, session } = await opened(chain(2));
		const before = fs.readFileSync(file);
		session.getEntries()[0].message.content = 1n;
		await assert.rejects(session.rewriteEntries(), (error) => {
			assert.equal(error.code, "INVALID_ARGUMENT");
			assert.match(error.message, /^Entry e1 was changed/);
			assert.ok(error.cause instanceof TypeError);
			return true;
		});
		assert.deepEqual(fs.readFileSync(file), before);
	});

	test("an entry keeps its id and its parent", async () => {
		const { file, session } = await opened(chain(2));
		const before = fs.readFileSync(file);
		session.getEntries()[1].parentId = null;
		await assert.rejects(session.rewriteEntries(), { code: "INVALID_ARGUMENT" });
		assert.deepEqual(fs.readFileSync(file), before);
	});

	test("C: in memory a rewrite changes what is read", async () => {
		const session = SessionManager.inMemory("/x");
		const message = assistant("hi");
		const id = session.appendMessage(message);
		message.content[0].text = "changed";
		await session.rewriteEntries();
		assert.equal(session.getEntry(id).message.content[0].text, "changed");
		assert.equal(session.buildSessionContext().messages[0], message);
	});
});

describe("states and other sessions", () => {
	test("C: a snapshot restores session, leaf and the very objects", async () => {
		const { file, session } = await opened(chain(6));
		session.branch("e3");
		const entries = session.getEntries();
		const touched = entries[0].message;
		const before = session.captureState();
		assert.equal(before.sessionId, "1f9d2a6b9c0d1234");
		await session.newSession();
		assert.deepEqual(session.getEntries(), []);
		session.appendMessage(user("new"));
		session.restoreState(before);
		assert.equal(session.getSessionFile(), file);
		assert.equal(session.getLeafId(), "e3");
		session.getEntries().forEach((entry, at) => {
			assert.equal(entry, entries[at]);
		});
		assert.equal(session.getEntries().length, 6);
		assert.equal(entries[0].message, touched);
		assert.equal(entries[5].message.content[0].text, "a5");
		const id = session.appendMessage(user("after"));
		assert.equal(lines(file).at(-1).id, id);
		assert.equal(lines(file).at(-1).parentId, "e3");
		// The same snapshot again.
		session.restoreState(before);
		assert.equal(session.getEntries().length, 6);
		assert.equal(session.getEntries()[2], entries[2]);
	});

	test("u04: a snapshot has the header and the entries of its moment", async () => {
		const { session } = await opened(chain(3));
		const first = session.captureState();
		const id = session.appendMessage(user("4"));
		const second = session.captureState();
		assert.deepEqual([second.sessionName, second.titleSource], [undefined, undefined]);
		assert.deepEqual(second.fileEntries, [session.getHeader(), ...session.getEntries()]);
		assert.equal(second.fileEntries, second.fileEntries);
		assert.deepEqual(
			first.fileEntries.map((entry) => entry.id),
			["1f9d2a6b9c0d1234", "e1", "e2", "e3"],
		);
		// The objects are the session's.
		session.getEntries().forEach((entry, at) => {
			assert.equal(second.fileEntries[at + 1], entry);
		});
		// Asked when another session is here: what was touched is the same object, the rest says the same.
		const third = session.captureState();
		const touched = session.getEntry(id);
		touched.message.content = "changed";
		await session.newSession();
		assert.deepEqual(
			third.fileEntries.map((entry) => entry.id),
			["1f9d2a6b9c0d1234", "e1", "e2", "e3", id],
		);
		assert.equal(third.fileEntries[4], touched);
		assert.equal(third.fileEntries[1].message.content, "u0");
		session.restoreState(third);
		assert.equal(session.getEntry(id), touched);
		assert.equal(session.getEntry("e1").message.content, "u0");
		await session.rewriteEntries();
		assert.equal(lines(session.getSessionFile()).at(-1).message.content, "changed");
		// Of a session without entries.
		const empty = SessionManager.inMemory("/x");
		assert.deepEqual(empty.captureState().fileEntries, [empty.getHeader()]);
	});

	test("entries stay readable when the manager goes on with another session", async () => {
		for (const leave of [
			(session) => session.newSession(),
			(session) => session.setSessionFile(write(path.join(tempDir(), "o.jsonl"), chain(1))),
			(session) => session.fork(),
			(session) => session.createBranchedSession("e2"),
		]) {
			const { file, session } = await opened(chain(6));
			const entries = session.getEntries();
			await leave(session);
			await session.close();
			fs.rmSync(file, { force: true });
			assert.equal(entries[4].message.content, "u4", String(leave));
			assert.equal(JSON.stringify(entries[5]), JSON.stringify(chain(6)[6]), String(leave));
		}
	});

	test("R53d: after another process wrote the file anew, entries are the same objects where they stand now", async () => {
		const { file, session } = await opened(chain(4));
		const entries = session.getEntries();
		const touched = entries[1].message;
		const own = user("own");
		const id = session.appendMessage(own);
		const [header, ...rest] = lines(file);
		const theirs = { ...rest[0], id: "t1", message: user("theirs") };
		write(`${file}.new`, [header, theirs, ...rest]);
		fs.renameSync(`${file}.new`, file);
		session.appendMessage(user("next"));
		const now = session.getEntries();
		assert.deepEqual(
			now.map((entry) => entry.id),
			["t1", "e1", "e2", "e3", "e4", id, session.getLeafId()],
		);
		entries.forEach((entry, at) => {
			assert.equal(now[at + 1], entry);
		});
		assert.equal(entries[1].message, touched);
		assert.equal(entries[2].message.content, "u2");
		assert.equal(now[5].message, own);
	});

	/** Another manager changes texts of messages and writes the file anew. */
	async function changedByOther(file, texts) {
		const other = await SessionManager.open(file);
		for (const [id, text] of Object.entries(texts)) other.getEntry(id).message.content = text;
		await other.rewriteEntries();
		await other.close();
	}

	const contents = (file) =>
		Object.fromEntries(
			lines(file).flatMap(({ id, message }) => (message === undefined ? [] : [[id, message.content]])),
		);

	/** What takes in that the file was replaced. */
	const taking = {
		setSessionName: (session) => session.setSessionName("taken in", "user"),
		rewriteEntries: (session) => session.rewriteEntries(),
		appendMessage: (session) => session.appendMessage(user("taken in")),
		ensureOnDisk: (session) => session.ensureOnDisk(),
	};

	for (const [name, take] of Object.entries(taking)) {
		test(`R53d, f13: what nobody changed here never goes over what another process changed: ${name}`, async () => {
			const { file, session } = await opened(chain(5));
			const entries = session.getEntries();
			const message = entries[0].message;
			for (const entry of entries) assert.ok(entry.message.role);
			for (const text of ["theirs", "theirs again"]) {
				await changedByOther(file, { e1: text, e5: text });
				await take(session);
				await session.setSessionName(`once more after ${text}`, "user");
				assert.equal(contents(file).e1, text);
				assert.equal(contents(file).e5, text);
				// What is here says it too, in the very objects.
				assert.equal(session.getEntry("e1"), entries[0]);
				assert.equal(entries[0].message, message);
				assert.equal(message.content, text);
				assert.equal(session.buildSessionContext().messages[0], message);
				await session.rewriteEntries();
				assert.equal(contents(file).e1, text);
			}
		});

		test(`R53d: what was changed in place here and is not written wins: ${name}`, async () => {
			const { file, session } = await opened(chain(5));
			const entries = session.getEntries();
			for (const entry of entries) assert.ok(entry.message.role);
			entries[0].message.content = "ours";
			session.buildSessionContext().messages[2].content = "ours by way of a context";
			await changedByOther(file, { e1: "theirs", e3: "theirs", e5: "theirs" });
			await take(session);
			assert.equal(session.getEntry("e1").message.content, "ours");
			await session.rewriteEntries();
			const { e1, e3, e5 } = contents(file);
			assert.deepEqual([e1, e3, e5], ["ours", "ours by way of a context", "theirs"]);
			assert.equal(entries[0].message.content, "ours");
			assert.equal(entries[4].message.content, "theirs");
		});
	}

	test("R53d, f13: so it is with messages of a context, given ones, and those nobody touched", async () => {
		const { file, session } = await opened(chain(4));
		const entries = session.getEntries();
		const sent = session.buildSessionContext().messages;
		sent[1].content = "ours";
		const own = user("own");
		const id = session.appendMessage(own);
		await changedByOther(file, { e1: "theirs", e2: "theirs", [id]: "theirs" });
		session.appendMessage(user("takes it in"));
		await session.rewriteEntries();
		await session.setSessionName("name", "user");
		const now = contents(file);
		assert.deepEqual([now.e1, now.e2, now[id]], ["theirs", "ours", "theirs"]);
		assert.equal(entries[0].message, sent[0]);
		assert.equal(sent[0].content, "theirs");
		assert.equal(entries[1].message, sent[1]);
		assert.equal(session.getEntry(id).message, own);
		assert.equal(own.content, "theirs");
	});

	test("R53d, f13: another object takes the place of one that cannot say what is stored", async () => {
		const { file, session } = await opened(chain(2));
		const [entry] = session.getEntries();
		Object.freeze(entry.message);
		Object.freeze(entry);
		await changedByOther(file, { e1: "theirs" });
		session.appendMessage(user("takes it in"));
		await session.rewriteEntries();
		assert.equal(contents(file).e1, "theirs");
		assert.equal(session.getEntry("e1").message.content, "theirs");
		assert.equal(entry.message.content, "u0");
	});

	test("R53d, f13: going back to an earlier state makes nobody else's text one's own", async () => {
		const { file, session } = await opened(chain(3));
		for (const entry of session.getEntries()) assert.ok(entry.message.role);
		const state = session.captureState();
		await changedByOther(file, { e1: "theirs" });
		session.appendMessage(user("takes it in"));
		assert.equal(session.getEntry("e1").message.content, "theirs");
		session.restoreState(state);
		await changedByOther(file, { e1: "theirs again" });
		await session.rewriteEntries();
		assert.equal(contents(file).e1, "theirs again");
		assert.equal(session.getEntry("e1").message.content, "theirs again");
		// What was changed to the same here is one's own.
		for (const text of ["ours", "theirs again"]) {
			session.getEntry("e1").message.content = text;
			await session.rewriteEntries();
			assert.equal(contents(file).e1, text);
		}
	});

	test("R53d, f13: a line of the same id that is no object here", async () => {
		const { file, session } = await opened(chain(3));
		for (const entry of session.getEntries()) assert.ok(entry.message.role);
		const again = { ...lines(file)[3], message: user("the last line of e3") };
		fs.appendFileSync(file, `${JSON.stringify(again)}\n`);
		session.appendLabelChange("e1", "takes in the line");
		await changedByOther(file, { e1: "theirs" });
		session.appendLabelChange("e1", "takes in the file");
		await session.rewriteEntries();
		await session.rewriteEntries();
		const texts = lines(file).flatMap(({ id, message }) => (id === "e3" ? [message.content] : []));
		assert.deepEqual(texts, ["u2", "the last line of e3"]);
		assert.equal(session.getEntry("e3").message.content, "the last line of e3");
	});

	test("R53d: what is stored wins when the file was cut in place, and what was there is gone", async () => {
		const { file, session } = await opened(chain(5));
		const entries = session.getEntries();
		for (const entry of entries) assert.ok(entry.message.role);
		const [header, first, second] = lines(file);
		write(file, [header, { ...first, message: user("theirs") }, { ...second, message: user("theirs") }]);
		session.appendMessage(user("takes it in"));
		await session.rewriteEntries();
		const { e1, e2 } = contents(file);
		assert.deepEqual([e1, e2], ["theirs", "theirs"]);
		assert.equal(entries[1].message.content, "theirs");
	});

	test("R53c: what another process appended comes before the next entry here", async () => {
		const { file, session } = await opened(chain(2));
		const entries = session.getEntries();
		const other = await SessionManager.open(file);
		const theirs = other.appendMessage(user("theirs"));
		const mine = session.appendMessage(user("mine"));
		assert.deepEqual(
			session.getEntries().map((entry) => entry.id),
			["e1", "e2", theirs, mine],
		);
		assert.equal(session.getEntries()[0], entries[0]);
		assert.equal(session.getEntry(mine).parentId, "e2");
		assert.equal(session.getEntry(theirs).message.content, "theirs");
	});

	test("C: entries that hang on a left-out label are others in a branched session", async () => {
		const values = sessionOf([
			["message", { message: user("1") }],
			["label", { targetId: "e1", label: "mark" }],
			["message", { message: assistant("2") }],
		]);
		const { session } = await opened(values);
		const entries = session.getEntries();
		const before = session.captureState();
		session.createBranchedSession("e3");
		const now = session.getEntries();
		assert.equal(now[0], entries[0]);
		assert.equal(now[1].id, "e3");
		assert.equal(now[1].parentId, "e1");
		assert.equal(now[1].message, entries[2].message);
		assert.equal(entries[2].parentId, "e2");
		assert.equal(session.getLabel("e1"), "mark");
		session.restoreState(before);
		assert.equal(session.getEntries()[2].parentId, "e2");
	});
});

describe("u07: a file that another program edits in place while it is open", () => {
	const NAMES = ["u0", "a1", "u2", "a3"];
	/** The texts of messages. */
	const said = (messages) => messages.map(({ content }) => (typeof content === "string" ? content : content[0].text));
	const inFile = (file) => said(lines(file).flatMap(({ message }) => message ?? []));
	const edit = (file, before, after) => fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace(before, after));
	const CASES = [
		["longer by one character, then a rename", "u0x", false],
		["of the same length, then a rename", "U0", false],
		["shorter, an append, then a rename", "u", true],
	];
	for (const [what, text, appends] of CASES) {
		for (const touches of [false, true]) {
			test(`${what}: ${touches ? "with entries that were read" : "with nothing read"}`, async () => {
				const { file, session } = await opened(chain(4));
				if (touches) assert.deepEqual(said(session.getEntries().map(({ message }) => message)), NAMES);
				edit(file, '"u0"', `"${text}"`);
				if (appends) session.appendMessage(user("u4"));
				assert.equal(await session.setSessionName("name", "user"), true);
				const all = [text, ...NAMES.slice(1), ...(appends ? ["u4"] : [])];
				assert.deepEqual(inFile(file), all);
				assert.deepEqual(said(session.getEntries().map(({ message }) => message)), all);
				assert.deepEqual(said(session.buildSessionContext().messages), all);
				assert.equal((await SessionManager.open(file)).getSessionName(), "name");
			});
		}

		test(`${what}: what was changed here wins, and only there`, async () => {
			const { file, session } = await opened(chain(4));
			session.getEntries()[2].message.content = "mine";
			edit(file, '"u0"', `"${text}"`);
			edit(file, '"u2"', `"${text}2"`);
			if (appends) session.appendMessage(user("u4"));
			await session.setSessionName("name", "user");
			assert.deepEqual(inFile(file), [text, "a1", "mine", "a3", ...(appends ? ["u4"] : [])]);
		});
	}
});
