// What is looked at under each test runner: errors, which native code makes and some runners put into
// another realm, and a session from its first entry to its reopening.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

/** The names of the tests, and what each does with the package. */
exports.cases = {
	"u11: an error of native code has its code"({ LeaflogError, SessionManager }) {
		const session = SessionManager.inMemory("/x");
		assert.throws(
			() => session.branch("none"),
			(error) => {
				assert.equal(error.code, "ENTRY_NOT_FOUND");
				assert.ok(error instanceof LeaflogError && error instanceof Error);
				assert.match(error.message, /Entry none not found$/);
				return true;
			},
		);
		assert.throws(() => SessionManager.create(5), {
			code: "INVALID_ARGUMENT",
			message: "a string is expected, not number",
		});
	},

	async "u11: so has one of a promise"({ LeaflogError, SessionManager }) {
		await inDir(async (dir) => {
			await assert.rejects(SessionManager.open(dir), (error) => {
				assert.equal(error.code, "IS_A_DIRECTORY");
				assert.ok(error instanceof LeaflogError);
				assert.equal(error.path, dir);
				return true;
			});
		});
	},

	async "u11: a method of a storage has the system's code"({ FileSessionStorage, LeaflogError }) {
		await inDir(async (dir) => {
			const gone = path.join(dir, "gone.jsonl");
			await assert.rejects(new FileSessionStorage().readText(gone), (error) => {
				assert.equal(error.code, "ENOENT");
				assert.ok(error instanceof LeaflogError);
				return true;
			});
		});
	},

	async "u11: what JSON cannot say is named"({ LeaflogError, SessionManager }) {
		const session = SessionManager.inMemory("/x");
		const id = session.appendMessage({ role: "user", content: "hello" });
		session.getEntry(id).message.content = 1n;
		await assert.rejects(session.rewriteEntries(), (error) => {
			assert.ok(error instanceof LeaflogError);
			assert.match(error.message, new RegExp(`^Entry ${id} was changed .*BigInt`));
			return true;
		});
	},

	async "u11: a failure of a storage of one's own is in force with its words"({
		MemorySessionStorage,
		SessionManager,
	}) {
		const storage = new MemorySessionStorage();
		const failure = new Error("no room");
		storage.openWriter = () => {
			throw failure;
		};
		const session = SessionManager.create("/x", "/sessions", storage);
		session.appendMessage({ role: "assistant", content: [] });
		await assert.rejects(session.flush(), (error) => error === failure);
		assert.equal(session.persistStatus().error, failure);
	},

	async "a session is written and read"({ SessionManager }) {
		await inDir(async (dir) => {
			const session = SessionManager.create(dir, dir);
			session.appendMessage({ role: "user", content: "hello", timestamp: 1 });
			const id = session.appendMessage({ role: "assistant", content: [{ type: "text", text: "é" }], timestamp: 2 });
			await session.flush();
			await session.close();
			const again = await SessionManager.open(session.getSessionFile());
			assert.deepEqual(
				again.buildSessionContext().messages.map(({ content }) => content),
				["hello", [{ type: "text", text: "é" }]],
			);
			assert.equal(again.getLeafId(), id);
			assert.equal(again.getEntry(id), again.getLeafEntry());
			await again.close();
		});
	},
};

/** Runs with a directory that goes afterwards, whatever happens. */
async function inDir(run) {
	const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "leaflog-smoke-")));
	try {
		await run(dir);
	} finally {
		fs.rmSync(dir, { recursive: true, force: true });
	}
}
