// Code that is not saved yet, by the name of the python plugin: {text, base}, where base is the text of the file.
// Drafts stay while the user visits other pages; the browser asks before it closes the window if there are any.
export const drafts = $state({});

const names = () => Object.keys(drafts).filter((name) => drafts[name].text !== drafts[name].base);

export const unsaved = (name) => name in drafts && drafts[name].text !== drafts[name].base;

addEventListener('beforeunload', (event) => {
  if (names().length) event.preventDefault();
});
