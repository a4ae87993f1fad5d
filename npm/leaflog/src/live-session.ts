import * as path from "node:path";
import { effective, type LeaflogOptions, nativeOptions } from "./config";
import { type CapturedEntries, Entries } from "./entries";
import { fromJson, fromReason, LeaflogError, toJson } from "./errors";
import {
	type Handle,
	type NativeOptions,
	native,
	type SlotHandle,
	type StateHandle,
	type StorageHandle,
} from "./native";
import { handled } from "./promises";
import { type Backing, backing, type Driver, type SessionStorage } from "./storage";
import type { AgentMessage, PersistStatus, SessionHeader, UsageStatistics } from "./types";

/** How long an append waits for another process's lock, in milliseconds, when nothing else is said. */
const APPEND_LOCK_TIMEOUT = 100;

/** Where a session is kept, and how it is made there. */
export interface Place extends Backing {
	options: LeaflogOptions;
	/** The same for native code. */
	given: [options: NativeOptions, storage: StorageHandle | undefined];
}

export function placeOf(
	storage: SessionStorage | undefined,
	given: LeaflogOptions | undefined,
	sessionDir: string | undefined,
): Place {
	const options = effective(given);
	const { handle, driver } = backing(storage);
	return { handle, driver, options, given: [nativeOptions(options, sessionDir), handle] };
}

/**
 * A session at work: the native manager, the objects that were handed out of it, and the caller's own
 * storage when there is one. Every call that writes goes through here, so that what was changed in
 * place goes with it, the storage is driven, and failures are told.
 */
export class LiveSession {
	readonly handle: Handle;
	readonly driver: Driver | undefined;
	readonly options: LeaflogOptions;
	entries: Entries;
	/** How often messages that are here were sanitized. */
	sanitized = 0;
	/** The first assistant message, or something else, made the file. */
	#started = false;
	/** What was handed out, kept up to date. */
	#usage: UsageStatistics | undefined;
	#header: SessionHeader | undefined;
	/** How long what need not be done at once waits for another process's lock, in milliseconds. */
	readonly #lockTimeout: number;
	/** The same for an append. */
	readonly #appendLockTimeout: number;

	private constructor(handle: Handle, { driver, options }: Place) {
		this.handle = handle;
		this.#lockTimeout = native.lockTimeout(handle);
		this.#appendLockTimeout = options.lockTimeoutMs ?? APPEND_LOCK_TIMEOUT;
		native.setLockTimeout(handle, this.#appendLockTimeout);
		this.driver = driver;
		this.options = options;
		this.entries = new Entries(handle);
		if (driver !== undefined) driver.session = handle;
	}

	/** A session that is made at once. */
	static begin(make: (cwd: string, ...given: Place["given"]) => Handle, cwd: string, place: Place): LiveSession {
		const handle = make(cwd, ...place.given);
		place.driver?.run();
		return new LiveSession(handle, place);
	}

	/** A session that another thread makes, of the file `source` when it is made of one. */
	static async make(
		place: Place,
		source: string | undefined,
		make: (slot: SlotHandle) => Promise<void>,
	): Promise<LiveSession> {
		if (source !== undefined) await place.driver?.load(path.resolve(source));
		const slot = native.slotNew();
		await make(slot);
		const live = new LiveSession(native.slotTake(slot), place);
		if (place.driver !== undefined) {
			place.driver.run();
			await live.flush();
		}
		return live;
	}

	/** The session's file; `undefined` when it is kept nowhere. */
	get file(): string | undefined {
		return native.sessionFile(this.handle) ?? undefined;
	}

	/** The header; the same object until another session is here. */
	get header(): SessionHeader {
		const now = fromJson<SessionHeader>(native.header(this.handle));
		this.#header ??= now;
		for (const key of Object.keys(this.#header)) {
			if (!Object.hasOwn(now, key)) delete this.#header[key as keyof SessionHeader];
		}
		return Object.assign(this.#header, now);
	}

	/** The sums; the same object until another session is here. */
	get usage(): UsageStatistics {
		const now = JSON.parse(native.usage(this.handle)) as UsageStatistics;
		this.#usage = this.#usage === undefined ? now : Object.assign(this.#usage, now);
		return this.#usage;
	}

	get persistStatus(): PersistStatus {
		const { error, unsaved, lastSaved } = JSON.parse(native.persistStatus(this.handle)) as {
			error: string | null;
			unsaved: number;
			lastSaved: string | null;
		};
		const status: PersistStatus = { unsaved };
		if (error !== null) status.error = this.#why(fromReason(error)) as Error;
		if (lastSaved !== null) status.lastSaved = lastSaved;
		return status;
	}

	// Append

	/** Appends an entry, which has the very objects in `fields`. What JSON cannot say throws before `first` runs. */
	append(fields: Record<string, unknown>, first?: () => void): string {
		const text = toJson(fields);
		first?.();
		let id: string;
		try {
			id = native.appendEntry(this.handle, text);
		} catch (error) {
			throw this.#appendFailed(error, (failed) => this.entries.give(failed, fields));
		}
		this.entries.give(id, fields);
		this.driver?.run();
		return id;
	}

	/** Appends a message, which is the entry's. */
	appendMessage(message: AgentMessage): string {
		const text = toJson(message);
		const role = (message as { role?: unknown } | null)?.role;
		if (!this.#started && role === "assistant") this.#beforeStart();
		let id: string;
		try {
			id = appendText(this.handle, text);
		} catch (error) {
			throw this.#appendFailed(error, (failed) => this.entries.giveMessage(failed, message));
		}
		this.entries.giveMessage(id, message);
		this.driver?.run();
		if (this.#usage !== undefined && (role === "assistant" || role === "toolResult")) void this.usage;
		return id;
	}

	/** Before the session may start. */
	#beforeStart(): void {
		this.#started = native.isStarted(this.handle);
		// The first write is of everything.
		if (!this.#started) this.entries.writeChanges();
	}

	#appendFailed(error: unknown, give: (id: string) => void): unknown {
		const { entryId } = error as LeaflogError;
		if (entryId !== undefined) give(entryId);
		return this.#failed(error);
	}

	// Write

	/**
	 * Runs a call once the caller's own storage has done what came before, and waits until it has done
	 * this. Without such a storage the call is done when this returns, unless another process holds the lock.
	 */
	step<T>(run: () => T, before = (driver: Driver) => driver.idle()): Promise<T> {
		return handled(async () => {
			if (this.driver === undefined) return this.#unlocked(run);
			await before(this.driver);
			const result = run();
			await this.#done();
			return result;
		});
	}

	/** The same for a call that closes the session, and leaves what is unsaved behind. */
	leave<T>(run: () => T, before?: (driver: Driver) => Promise<void>): Promise<T> {
		if (this.driver !== undefined) return this.step(run, before);
		return handled(async () => {
			const { error, unsaved } = this.persistStatus;
			// Another process held the lock. If it still does, the event loop goes on meanwhile.
			if (unsaved > 0 && error === undefined && native.isStarted(this.handle)) await this.flush().catch(() => {});
			return this.patient(run);
		});
	}

	/** Runs a call that waits for another process's lock at once. */
	patient<T>(run: () => T): T {
		native.setLockTimeout(this.handle, this.#lockTimeout);
		try {
			return run();
		} finally {
			native.setLockTimeout(this.handle, this.#appendLockTimeout);
		}
	}

	/** Runs a call that changes nothing while another process holds the lock: again, once it is free. */
	async #unlocked<T>(run: () => T): Promise<T> {
		const end = performance.now() + this.#lockTimeout;
		for (;;) {
			try {
				return run();
			} catch (error) {
				const left = end - performance.now();
				if ((error as LeaflogError).code !== "LOCKED" || left <= 0) throw error;
				await native.lockWait(this.handle, left);
			}
		}
	}

	/** Waits for the disk. */
	flush(): Promise<void> {
		if (this.driver !== undefined) return this.step(() => this.call(() => native.flushNow(this.handle)));
		return handled(() => native.flush(this.handle, this.#lockTimeout).finally(() => this.#log()));
	}

	/** Calls what may fail to write. */
	call<T>(call: () => T): T {
		try {
			return call();
		} catch (error) {
			throw this.#failed(error);
		} finally {
			this.driver?.run();
		}
	}

	/** Takes what was changed in place. */
	#takeChanges(): void {
		try {
			this.entries.writeChanges();
		} catch (error) {
			if ((error as LeaflogError).code !== "FILE_CHANGED") throw error;
			// Another program edited the file in place: it is read again, and then it is known what was changed here.
			this.call(() => native.rewriteEntries(this.handle));
			this.entries.writeChanges();
		}
	}

	/** Calls what may write the file anew: that takes what was changed in place. */
	write<T>(call: () => T): T {
		this.#takeChanges();
		this.#started = false;
		return this.call(call);
	}

	/** Calls what puts another session in this one's place. */
	switch<T>(call: () => T): T {
		this.driver?.clear();
		return this.#replace(
			() => this.call(call),
			() => new Entries(this.handle),
		);
	}

	/** Calls what puts a copy of this session in its place: the copy has the same objects. */
	copy<T>(call: () => T): T {
		this.#takeChanges();
		const handedOver = this.entries.handOver();
		return this.#replace(
			() => this.call(call),
			() => Entries.successor(this.handle, handedOver),
		);
	}

	/** Goes back to what was captured. */
	restore(state: StateHandle, entries: CapturedEntries, sanitized: number): void {
		this.#replace(
			() => native.restoreState(this.handle, state),
			() => {
				// The objects stay what they have become.
				if (sanitized !== this.sanitized) native.showAsLoaded(this.handle);
				return Entries.restored(this.handle, entries);
			},
		);
		this.driver?.clear();
		this.driver?.run();
	}

	/** Calls what changes which session is here; `next` gives the objects of the one that is here then. */
	#replace<T>(call: () => T, next: () => Entries): T {
		const before = this.entries.capture();
		this.entries.detach();
		this.#started = false;
		let result: T;
		try {
			result = call();
		} catch (error) {
			// Whichever is here: what was handed out stays where its entry is.
			this.entries = Entries.successor(this.handle, before);
			throw error;
		}
		this.#usage = undefined;
		this.#header = undefined;
		this.entries = next();
		return result;
	}

	// Failures

	/** Waits for a storage of the caller's own, and gives what it threw. */
	async #done(): Promise<void> {
		await this.driver?.idle();
		const { error } = this.persistStatus;
		if (error !== undefined) throw this.#failed(error);
	}

	#failed(error: unknown): unknown {
		this.#log();
		return this.#why(error);
	}

	/** A failure that a storage of the caller's own reported is its own error. */
	#why(error: unknown): unknown {
		const isLatched = error instanceof LeaflogError && error.code === "IO" && error.cause === undefined;
		return isLatched && this.driver !== undefined ? this.driver.cause(error) : error;
	}

	/** Tells the logger what there is to tell. */
	#log(): void {
		for (const line of native.takeLog(this.handle)) {
			try {
				this.options.logger?.error(line, { sessionFile: this.file });
			} catch {
				// The failure that is told goes to the caller, not what the logger makes of it.
			}
		}
	}
}

const encoder = new TextEncoder();
/** Where messages are put for native code, if they are no longer than usual. */
const scratch = new Uint8Array(64 << 10);

/** Engines put text into an array that is there in half the time that they take to hand it over. */
function appendText(handle: Handle, text: string): string {
	// A unit is at most three bytes.
	if (text.length * 3 > scratch.length) return native.appendMessage(handle, text);
	return native.appendMessageBytes(handle, scratch, encoder.encodeInto(text, scratch).written);
}
