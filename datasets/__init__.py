"""Our own drawings, the renderer that makes labelled scenes and clips, and the manifests with splits by session."""
