import { count } from "./config";
import { asSystemError, invalid, LeaflogError, why } from "./errors";
import { type Handle, native, type StorageHandle, type WriterHandle } from "./native";

export interface SessionStorageStat {
	size: number;
	mtimeMs: number;
	mtime: Date;
}

/** Writes lines to one file of a storage. */
export interface SessionStorageWriter {
	/** Writes a line, which brings its newline. */
	writeLine(line: string): Promise<void>;
	flush(): Promise<void>;
	fsync(): Promise<void>;
	close(): Promise<void>;
	/** The first error of this writer. */
	getError(): Error | undefined;
}

export interface OpenWriterOptions {
	/** `a`: after what is there; `w`: with an empty file. */
	flags?: "a" | "w";
	onError?: (error: Error) => void;
}

/** A place that keeps sessions under paths. Any object with these methods can drive a session. */
export interface SessionStorage {
	ensureDirSync(dir: string): void;
	existsSync(path: string): boolean;
	writeTextSync(path: string, content: string): void;
	statSync(path: string): SessionStorageStat;
	/** The files of a folder: `*`, `*.ext` or a name. */
	listFilesSync(dir: string, pattern: string): string[];

	exists(path: string): Promise<boolean>;
	readText(path: string): Promise<string>;
	readTextPrefix(path: string, maxBytes: number): Promise<string>;
	writeText(path: string, content: string): Promise<void>;
	rename(path: string, nextPath: string): Promise<void>;
	unlink(path: string): Promise<void>;
	openWriter(path: string, options?: OpenWriterOptions): SessionStorageWriter;
}

/** Runs a native call of a storage; errors have the system's codes. */
function system<T>(run: () => T): T {
	try {
		return run();
	} catch (error) {
		throw asSystemError(error);
	}
}

/** What the two storages share: their methods are native. */
abstract class NativeStorage implements SessionStorage {
	/** @internal */
	abstract readonly handle: StorageHandle | undefined;

	ensureDirSync(dir: string): void {
		system(() => native.storageEnsureDir(this.handle, dir));
	}

	existsSync(path: string): boolean {
		return native.storageExists(this.handle, path);
	}

	writeTextSync(path: string, content: string): void {
		system(() => native.storageWrite(this.handle, path, content));
	}

	statSync(path: string): SessionStorageStat {
		const [size, mtimeMs] = system(() => native.storageStat(this.handle, path));
		return { size, mtimeMs, mtime: new Date(mtimeMs) };
	}

	listFilesSync(dir: string, pattern: string): string[] {
		return native.storageList(this.handle, dir, pattern);
	}

	async exists(path: string): Promise<boolean> {
		return this.existsSync(path);
	}

	async readText(path: string): Promise<string> {
		return system(() => native.storageRead(this.handle, path));
	}

	async readTextPrefix(path: string, maxBytes: number): Promise<string> {
		return system(() => native.storageReadPrefix(this.handle, path, count(maxBytes)));
	}

	async writeText(path: string, content: string): Promise<void> {
		this.writeTextSync(path, content);
	}

	async rename(path: string, nextPath: string): Promise<void> {
		system(() => native.storageRename(this.handle, path, nextPath));
	}

	async unlink(path: string): Promise<void> {
		system(() => native.storageUnlink(this.handle, path));
	}

	openWriter(path: string, options?: OpenWriterOptions): SessionStorageWriter {
		const writer = system(() => native.writerOpen(this.handle, path, options?.flags === "w"));
		return new NativeWriter(writer, options?.onError);
	}
}

class NativeWriter implements SessionStorageWriter {
	readonly #writer: WriterHandle;
	readonly #onError: ((error: Error) => void) | undefined;
	#error: Error | undefined;

	constructor(writer: WriterHandle, onError: ((error: Error) => void) | undefined) {
		this.#writer = writer;
		this.#onError = onError;
	}

	async writeLine(line: string): Promise<void> {
		this.#run(() => native.writerLine(this.#writer, line));
	}

	async flush(): Promise<void> {
		this.#run(() => native.writerFlush(this.#writer));
	}

	async fsync(): Promise<void> {
		this.#run(() => native.writerFsync(this.#writer));
	}

	async close(): Promise<void> {
		this.#run(() => native.writerClose(this.#writer));
	}

	getError(): Error | undefined {
		return this.#error;
	}

	#run(run: () => void): void {
		try {
			system(run);
		} catch (error) {
			// Using a writer that is closed is the caller's error, not the writer's.
			if ((error as { code?: string }).code !== "CLOSED" && this.#error === undefined) {
				this.#error = error as Error;
				this.#onError?.(this.#error);
			}
			throw error;
		}
	}
}

/** Keeps sessions as files. */
export class FileSessionStorage extends NativeStorage {
	/** @internal */
	readonly handle = undefined;

	/** Removes a session file and the folder of its artifacts. */
	async deleteSessionWithArtifacts(sessionPath: string): Promise<void> {
		system(() => native.deleteSession(sessionPath));
	}
}

/** Keeps sessions in memory, for tests and for what is not kept. */
export class MemorySessionStorage extends NativeStorage {
	/** @internal */
	readonly handle: StorageHandle = native.memoryNew();
}

const ORIGINAL = new Map(
	(Object.getOwnPropertyNames(NativeStorage.prototype) as (keyof SessionStorage | "constructor")[])
		.filter((name) => name !== "constructor")
		.map((name) => [name, NativeStorage.prototype[name]]),
);

/** A storage as native code takes it: the two that come with the library, unless a method was replaced. */
export function isNative(storage: SessionStorage): storage is NativeStorage {
	if (!(storage instanceof NativeStorage)) return false;
	for (const [name, method] of ORIGINAL) {
		if (storage[name] !== method) return false;
	}
	return true;
}

/**
 * The text of a file of a storage; `undefined` when native code reads it better itself, `null` when
 * there is no such file.
 */
export async function contentOf(storage: SessionStorage | undefined, path: string): Promise<string | null | undefined> {
	if (storage === undefined || (isNative(storage) && storage.handle === undefined)) return undefined;
	return (await storage.exists(path)) ? await storage.readText(path) : null;
}

/** A storage as a session uses it. */
export interface Backing {
	handle: StorageHandle | undefined;
	/** Of a storage of the caller's own. */
	driver: Driver | undefined;
}

export function backing(storage: SessionStorage | undefined): Backing {
	if (storage === undefined) return { handle: undefined, driver: undefined };
	if (typeof storage !== "object" || storage === null) throw invalid("a storage is an object with methods");
	if (isNative(storage)) return { handle: storage.handle, driver: undefined };
	const driver = new Driver(storage);
	return { handle: driver.queue, driver };
}

type Task =
	| ["ensureDir", dir: string]
	| ["writeText", path: string, text: string]
	| ["rename", from: string, to: string]
	| ["unlink", path: string]
	| ["openWriter", writer: number, path: string, flags: "a" | "w"]
	| ["writeLine", writer: number, line: string]
	| ["flush" | "fsync" | "close", writer: number];

/**
 * Does with a storage of the caller's own what native code wants done: in order, one after another,
 * each promise awaited.
 */
export class Driver {
	readonly queue = native.queueNew();
	readonly #storage: SessionStorage;
	readonly #writers = new Map<number, SessionStorageWriter>();
	#tasks: Task[] = [];
	#busy: Promise<void> | undefined;
	#session: Handle | undefined;
	/** What the storage threw; in force until the session tries again. */
	#failure: { error: unknown } | undefined;

	constructor(storage: SessionStorage) {
		this.#storage = storage;
	}

	/** The session to be told of failures. */
	set session(session: Handle) {
		this.#session = session;
		if (this.#failure !== undefined) this.#tell(this.#failure.error);
	}

	/** What the storage threw, in place of what native code made of it. */
	cause(error: unknown): unknown {
		return this.#failure === undefined ? error : this.#failure.error;
	}

	/** The session tries again. */
	clear(): void {
		this.#failure = undefined;
	}

	/** Hands in what is at a path, for native code to open it. */
	async load(path: string): Promise<void> {
		await this.idle();
		const exists = await this.#storage.exists(path);
		const text: unknown = exists ? await this.#storage.readText(path) : undefined;
		// Taken for a missing file, what is there would be written over.
		if (exists && typeof text !== "string") throw invalid(`the storage gave no text for ${path}`);
		native.queueText(this.queue, path, text as string | undefined);
	}

	/** Hands in whether there is something at paths. */
	async look(...paths: string[]): Promise<void> {
		await this.idle();
		for (const path of paths) native.queueExists(this.queue, path, Boolean(await this.#storage.exists(path)));
	}

	/** Begins what native code wants done. What needs no promise is done when this returns. */
	run(): void {
		const tasks = JSON.parse(native.queueTake(this.queue)) as Task[];
		if (tasks.length === 0) return;
		this.#tasks.push(...tasks);
		try {
			while (this.#busy === undefined && this.#tasks[0]?.[0] === "ensureDir") {
				const [, dir] = this.#tasks.shift() as ["ensureDir", string];
				this.#storage.ensureDirSync(dir);
			}
		} catch (error) {
			this.#failed(error);
			// Who makes the session is told; later it is in force as any failure of writing.
			if (this.#session === undefined) throw error;
		}
		if (this.#busy === undefined && this.#tasks.length > 0) this.#busy = this.#work();
	}

	/** Waits until everything is done. */
	async idle(): Promise<void> {
		while (this.#busy !== undefined) await this.#busy;
	}

	async #work(): Promise<void> {
		try {
			for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) {
				await this.#do(task);
			}
		} catch (error) {
			this.#failed(error);
		} finally {
			this.#busy = undefined;
		}
	}

	#failed(thrown: unknown): void {
		const isObject = typeof thrown === "object" && thrown !== null;
		const error = isObject ? thrown : new LeaflogError(`the storage failed: ${String(thrown)}`, { code: "IO" });
		// What comes after would build on what failed.
		this.#tasks = [];
		this.#writers.clear();
		this.#failure ??= { error };
		this.#tell(error);
	}

	#tell(error: unknown): void {
		if (this.#session === undefined) return;
		native.reportFailure(this.#session, why(error));
	}

	async #do(task: Task): Promise<void> {
		switch (task[0]) {
			case "ensureDir":
				return this.#storage.ensureDirSync(task[1]);
			case "writeText":
				return this.#storage.writeText(task[1], task[2]);
			case "rename":
				return this.#storage.rename(task[1], task[2]);
			case "unlink":
				return this.#storage.unlink(task[1]);
			case "openWriter":
				this.#writers.set(task[1], this.#storage.openWriter(task[2], { flags: task[3] }));
				return;
			case "writeLine":
				return this.#writer(task[1]).writeLine(task[2]);
			case "close": {
				// After a failure it is gone already.
				const writer = this.#writers.get(task[1]);
				this.#writers.delete(task[1]);
				return writer?.close();
			}
			default:
				return this.#writer(task[1])[task[0]]();
		}
	}

	#writer(number: number): SessionStorageWriter {
		const writer = this.#writers.get(number);
		if (writer === undefined) throw new LeaflogError("the storage's writer is gone", { code: "IO" });
		return writer;
	}
}
