// Pages opened as files may start no worker, and the search of the site is one. Where a page is a file, its script runs in
// a hidden frame instead, with the same messages in both directions.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(place) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside.importScripts = (...places) => Promise.all(places.map((one) => this.load(one)));
      this.load(place).then(() => {
        const early = this.waiting;
        this.waiting = null;
        early.forEach((data) => this.postMessage(data));
      });
    }

    load(place) {
      return new Promise((done, failed) => {
        const script = this.inside.document.createElement("script");
        Object.assign(script, { src: new URL(place, location.href).href, onload: done, onerror: failed });
        this.inside.document.body.append(script);
      });
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
    }

    terminate() {
      this.inside.frameElement?.remove();
    }
  };
}
