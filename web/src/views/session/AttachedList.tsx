// The files that go with the next prompt.
import { IconButton } from "../../parts/Button";
import { Icon } from "../../parts/Icon";
import { bytes } from "../../parts/numbers";
import { cutLine } from "../../render/visible";
import type { AttachedFile } from "./useAttachments";

export function AttachedList({ files, onRemove }: { files: AttachedFile[]; onRemove: (file: AttachedFile) => void }) {
  if (files.length === 0) return null;
  return (
    <ul className="attached" aria-label="Attachments">
      {files.map((file) => (
        <li key={file.key} className={file.problem ? "chip bad" : "chip"} title={file.problem?.detail ?? file.problem?.message}>
          {file.preview ? <img src={file.preview} alt="" /> : <Icon name="file" />}
          <span className="attached-name">{cutLine(file.name, 200)}</span>
          <span className="faint">{file.problem ? "not uploaded" : file.id === undefined ? "uploading" : bytes(file.size)}</span>
          <IconButton icon="close" label={`Remove ${cutLine(file.name, 120)}`} className="small-button" onClick={() => onRemove(file)} />
        </li>
      ))}
    </ul>
  );
}
