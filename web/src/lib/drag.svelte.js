// Dragging with mouse, pen or finger. drag.now describes the thing that is dragged, {what, label, x, y, over}, or is
// null. HTML's own drag and drop does not support fingers, so this uses pointer events.

export const drag = $state({ now: null });

const start = 4; // pixels before a press becomes a drag
const edge = 70; // this near the edge of the window, the page scrolls

// begin is for onpointerdown of a handle. find(element, y) returns the place under the pointer, or null; drop(place) is
// called if the pointer is released over a place. Escape cancels.
export function begin(event, { what, label, find, drop }) {
  if (event.button !== 0) return;
  const handle = event.currentTarget;
  const from = { x: event.clientX, y: event.clientY };
  let at = from;
  let frame;

  handle.setPointerCapture(event.pointerId);
  handle.addEventListener('pointermove', move);
  handle.addEventListener('pointerup', up);
  handle.addEventListener('pointercancel', end);
  addEventListener('keydown', key, true);

  function move(moved) {
    at = { x: moved.clientX, y: moved.clientY };
    if (!drag.now && Math.hypot(at.x - from.x, at.y - from.y) < start) return;
    moved.preventDefault();
    if (!drag.now) {
      drag.now = { what, label, ...at, over: null };
      frame = requestAnimationFrame(scroll);
    }
    look();
  }

  function look() {
    const under = document.elementFromPoint(at.x, at.y);
    Object.assign(drag.now, at, { over: (under && find(under, at.y)) ?? null });
  }

  function scroll() {
    const by = at.y < edge ? at.y - edge : Math.max(0, at.y - (innerHeight - edge));
    if (by) {
      scrollBy(0, by / 5);
      look();
    }
    frame = requestAnimationFrame(scroll);
  }

  function up() {
    const place = drag.now?.over;
    if (drag.now) swallowClick();
    end();
    if (place) drop(place);
  }

  function key(pressed) {
    if (pressed.key !== 'Escape' || !drag.now) return;
    pressed.preventDefault();
    pressed.stopPropagation();
    end();
  }

  function end() {
    cancelAnimationFrame(frame);
    handle.removeEventListener('pointermove', move);
    handle.removeEventListener('pointerup', up);
    handle.removeEventListener('pointercancel', end);
    removeEventListener('keydown', key, true);
    drag.now = null;
  }
}

// The browser sends a click after every press and release. The click at the end of a drag is ignored.
function swallowClick() {
  const swallow = (event) => {
    event.preventDefault();
    event.stopPropagation();
  };
  addEventListener('click', swallow, true);
  setTimeout(() => removeEventListener('click', swallow, true));
}
