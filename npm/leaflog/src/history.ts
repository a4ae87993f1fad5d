import { count, effective, nativeOptions } from "./config";
import { type HistoryHandle, native } from "./native";
import { handled } from "./promises";

/** A prompt of the history. */
export interface HistoryEntry {
	id: number;
	prompt: string;
	/** Seconds since 1970. */
	created_at: number;
	/** The folder it was written in. */
	cwd?: string;
}

/** As many as are ever given. */
const MOST = 1000;

/** The prompt history: a SQLite database that any number of processes may have open. */
export class HistoryStorage {
	static #instance: HistoryStorage | undefined;

	readonly #history: HistoryHandle;
	/** The storing that is under way, and the one that takes what came since. */
	#storing: Promise<void> = Promise.resolve();
	#next: Promise<void> | undefined;
	/** What is not stored yet is stored before the process ends; a failure does not change how it ends. */
	readonly #atExit = () => {
		try {
			this.close();
		} catch (error) {
			tell(error);
		}
	};

	private constructor(dbPath: string) {
		this.#history = native.historyOpen(dbPath);
		process.once("exit", this.#atExit);
	}

	/** The history of this process: the first call decides which. By default the agent's. */
	static open(dbPath?: string): HistoryStorage {
		HistoryStorage.#instance ??= new HistoryStorage(
			dbPath ?? native.historyDb(nativeOptions(effective(undefined), undefined)),
		);
		return HistoryStorage.#instance;
	}

	/** Closes the history of this process, so that the next `open` decides anew; for tests. */
	static resetInstance(): void {
		HistoryStorage.#instance?.close();
		HistoryStorage.#instance = undefined;
	}

	/** Takes a prompt in; the promise waits until it is stored. An empty one, and a repeat, is not stored. */
	add(prompt: string, cwd?: string): Promise<void> {
		return handled(async () => {
			native.historyAdd(this.#history, prompt, cwd);
			await this.#stored();
		});
	}

	/** The last prompts, the newest first. */
	getRecent(limit: number): HistoryEntry[] {
		return JSON.parse(native.historyRecent(this.#history, clamp(limit))) as HistoryEntry[];
	}

	/**
	 * The prompts that have a word, or a part of one, beginning with each word of the query, the newest first. In Chinese
	 * and the like any piece of a run counts; when no word begins so, those are found that have it inside.
	 */
	search(query: string, limit: number): HistoryEntry[] {
		return JSON.parse(native.historySearch(this.#history, query, clamp(limit))) as HistoryEntry[];
	}

	/** Stores what is not stored yet, and closes the database; closing again does nothing. */
	close(): void {
		process.removeListener("exit", this.#atExit);
		native.historyClose(this.#history);
	}

	/** One waiting for many prompts. */
	#stored(): Promise<void> {
		this.#next ??= this.#storing
			.catch(() => {})
			.then(() => {
				this.#next = undefined;
				this.#storing = native.historyFlush(this.#history);
				return this.#storing;
			});
		return this.#next;
	}
}

function clamp(limit: number): number {
	return Number.isFinite(limit) ? count(limit, MOST) : 0;
}

function tell(error: unknown): void {
	try {
		effective(undefined).logger?.error("cannot store the prompt history", { error });
	} catch {
		// There is nobody else to tell.
	}
}
