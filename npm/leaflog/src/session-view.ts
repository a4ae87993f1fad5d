import { effective, type LeaflogOptions, nativeOptions } from "./config";
import { Entries } from "./entries";
import { fromJson, invalid, LeaflogError } from "./errors";
import { type Handle, native } from "./native";
import { SessionReader } from "./session-reader";
import { contentOf, type SessionStorage } from "./storage";
import type { SessionHeader, UsageStatistics } from "./types";

/**
 * A session that is only looked at: nothing is created, written, locked or migrated on disk. A file of an
 * older version is read as if it had been migrated; its header says the version that it has.
 *
 * It is what the file held when it was opened. Entries are plain objects as those of a `SessionManager`; what
 * is changed of them goes nowhere.
 */
export class SessionView extends SessionReader {
	readonly #handle: Handle;
	readonly #path: string;
	readonly #header: SessionHeader;

	private constructor(handle: Handle, path: string) {
		if (typeof path !== "string") throw invalid("SessionView.open makes a view");
		const header = fromJson<SessionHeader>(native.header(handle));
		let usage: UsageStatistics | undefined;
		super({
			handle,
			entries: new Entries(handle),
			header,
			get usage() {
				usage ??= JSON.parse(native.usage(handle)) as UsageStatistics;
				return usage;
			},
		});
		this.#handle = handle;
		this.#path = path;
		this.#header = header;
	}

	/** The session at `path`. Without one it is an error: `NOT_FOUND`, or `NOT_A_SESSION` for another file. */
	static async open(path: string, storage?: SessionStorage, options?: LeaflogOptions): Promise<SessionView> {
		const content = await contentOf(storage, path);
		if (content === null) throw new LeaflogError(`File not found: ${path}`, { code: "NOT_FOUND", path });
		const slot = native.slotNew();
		await native.openView(slot, path, content, nativeOptions(effective(options), undefined));
		return new SessionView(native.slotTake(slot), path);
	}

	/** The path that it was opened by. */
	getSessionFile(): string {
		return this.#path;
	}

	getSessionId(): string {
		return this.#header.id;
	}

	/** The directory of the session's project. */
	getCwd(): string {
		return this.#header.cwd;
	}

	/** Closes the file. What was not read by then opens it again, unless another file stands there. */
	close(): void {
		native.release(this.#handle);
	}
}
