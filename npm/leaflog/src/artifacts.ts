import * as fs from "node:fs/promises";
import { invalid } from "./errors";
import { native } from "./native";

/** What tools gave that is too long for a session: files beside it. */
export class ArtifactManager {
	readonly #sessionFile: string;
	readonly #dir: string;

	/** The artifacts of a session file, whose name ends in `.jsonl`. */
	constructor(sessionFile: string) {
		const dir = native.artifactsDir(sessionFile);
		if (dir === null) throw invalid(`a session file ends in .jsonl: ${sessionFile}`);
		this.#sessionFile = sessionFile;
		this.#dir = dir;
	}

	/** The folder, which need not exist. */
	get dir(): string {
		return this.#dir;
	}

	/** Takes the next id and makes its empty file. */
	async allocatePath(toolType: string): Promise<{ id: string; path: string }> {
		const [id, path] = native.artifactAllocate(this.#sessionFile, toolType);
		return { id, path };
	}

	/** Saves an artifact and gives its id. */
	async save(content: string, toolType: string): Promise<string> {
		return native.artifactSave(this.#sessionFile, Buffer.from(content), toolType);
	}

	async exists(id: string): Promise<boolean> {
		return (await this.getPath(id)) !== null;
	}

	/** The names of the files in the folder. */
	async listFiles(): Promise<string[]> {
		return fs.readdir(this.#dir).catch(() => []);
	}

	/** The file of an artifact; `null` when there is none. */
	async getPath(id: string): Promise<string | null> {
		return native.artifactPath(this.#sessionFile, id);
	}
}
